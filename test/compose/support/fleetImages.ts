import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { baseName } from './baseImage.ts';
import type { CleanupSteps } from './cleanup.ts';
import { outputOf, succeeds } from './programs.ts';
import type { ComposeProject } from './setup.ts';

/**
 * Debian's HAProxy and PostgreSQL in images with the user, the command and the variables of the official images. Their
 * releases are older: HAProxy 2.6 and PostgreSQL 15.
 */
const substitutes = `
FROM ${baseName()} AS debian
RUN echo 'Acquire::Retries "3";' > /etc/apt/apt.conf.d/retries && apt-get update && \\
    apt-get install --yes --no-install-recommends haproxy postgresql && rm -rf /var/lib/apt/lists/*

FROM debian AS front
STOPSIGNAL SIGUSR1
USER haproxy
CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]

FROM debian AS store
ENV PGDATA=/var/lib/postgresql/data PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin
RUN install --directory --owner postgres --group postgres --mode 1777 $PGDATA && chmod 3777 /var/run/postgresql
COPY start.sh /start.sh
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
CMD ["sh", "/start.sh"]
`;

/** Creates the database that the variables name at the first start, as the official image does. */
const startStore = `set -e
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  chmod 700 "$PGDATA"
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username "$POSTGRES_USER" --pwfile /tmp/password --auth-local trust --auth-host scram-sha-256
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_USER" | postgres --single -D "$PGDATA" postgres
fi
exec postgres -c listen_addresses='*'
`;

/** Pulls the images of docker-compose.fleet.yml that Compose does not build. If that fails, builds substitutes. */
export async function provideFleetImages({ env, hasOwnEngine }: ComposeProject, file: string, cleanup: CleanupSteps) {
  const { services } = parse(file) as { services: Record<string, { image?: string }> };
  const docker = { ...process.env, ...env };
  for (const service of ['front', 'store']) {
    const image = services[service]?.image ?? '';
    if (await succeeds('docker', ['image', 'inspect', image], docker)) continue;
    if (await succeeds('docker', ['pull', '--quiet', image], docker, 30)) continue;
    console.log(`${image} cannot be pulled: building a substitute from Debian`);
    const folder = mkdtempSync(join(tmpdir(), 'fleet-images-'));
    try {
      writeFileSync(join(folder, 'Dockerfile'), substitutes);
      writeFileSync(join(folder, 'start.sh'), startStore);
      const args = ['build', '--target', service, '--tag', image, folder];
      await outputOf('docker', args, docker);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    if (!hasOwnEngine) cleanup.push(() => outputOf('docker', ['rmi', image], docker));
  }
}
