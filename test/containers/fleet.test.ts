import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isInstalled } from '../compose/support/programs.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { runIn } from '../process/cli/io.ts';

interface Service {
  readonly image?: string;
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly deploy?: Readonly<Record<string, unknown>>;
}

interface File {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: Readonly<Record<string, { readonly name: string; readonly file: string }>>;
  readonly secrets: Readonly<Record<string, unknown>>;
}

const read = (file: string): string => readFileSync(file, 'utf8');
const versionOf = (file: string): string => (JSON.parse(read(file)) as { version: string }).version;

describe('docker-compose.fleet.yml', () => {
  const { services } = parse(read('docker-compose.fleet.yml')) as File;
  const env = { PATH: '/nowhere', ADMIN_TOKEN: 'a'.repeat(48), STORE_PASSWORD: 'secret' };
  const check = async (given: NodeJS.ProcessEnv) => {
    const cwd = temporaryFolder();
    const parts = [
      'docker-compose.yml',
      'docker-compose.fleet.yml',
      'config',
      'services/v1/contract',
      'services/v2/contract',
    ];
    for (const part of parts) cpSync(part, join(cwd, part), { recursive: true });
    return runIn(cwd, ['check', '--compose', 'docker-compose.fleet.yml', '--strict'], given);
  };

  it('fits config/routes.yaml', async () => {
    const { code, stdout } = await check(env);
    expect([code, stdout]).toEqual([0, expect.stringContaining('routes.yaml and docker-compose.fleet.yml match.')]);
  });

  it.each(['ADMIN_TOKEN', 'STORE_PASSWORD'])('contains no secret, and says how to make %s', async (name) => {
    const { code, stdout } = await check({ ...env, [name]: undefined });
    expect(code).toBe(1);
    expect(stdout).toContain(`The variable ${name} is required here`);
    expect(stdout).toContain(`(umask 077; openssl rand -hex 24 | sed s/^/${name}=/ >> .env)`);
  });

  it('runs three gateways, each with a ledger of its own', () => {
    expect(services['gateway']?.deploy).toEqual({ replicas: 3 });
    expect(services['gateway']).toMatchObject({ volumes: expect.arrayContaining(['/app/.version-gateway']) });
  });

  it.skipIf(!isInstalled('haproxy'))('has a configuration that HAProxy accepts', () => {
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', 'deploy/haproxy/haproxy.cfg'], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe('deploy/swarm/stack.yml', () => {
  const { services, configs, secrets } = parse(read('deploy/swarm/stack.yml')) as File;

  it('runs the images of this release', () => {
    expect(Object.values(services).map(({ image }) => image)).toEqual([
      `\${REGISTRY:-}version-gateway:${versionOf('package.json')}`,
      `\${REGISTRY:-}cocktails-v1:${versionOf('services/v1/package.json')}`,
      `\${REGISTRY:-}cocktails-v2:${versionOf('services/v2/package.json')}`,
    ]);
  });

  it('starts a gateway before it stops one, and undoes an update that does not become healthy', () => {
    expect(services['gateway']).toMatchObject({
      deploy: { replicas: 3, update_config: { order: 'start-first', parallelism: 1, failure_action: 'rollback' } },
      healthcheck: { test: ['CMD', 'node', 'dist/main.js', 'ready', '--admin', '127.0.0.1:9901'] },
      // An entrypoint of its own hides the command of the image.
      command: ['start', '--listen', '0.0.0.0:8080', '--admin', '0.0.0.0:9901'],
      // gateway.drain and 15 s
      stop_grace_period: '45s',
    });
  });

  it('gives each config a name that changes with its files, and takes its secrets from the Swarm', () => {
    for (const { name } of Object.values(configs)) expect(name).toMatch(/-\$\{CONFIG\b/);
    for (const secret of Object.values(secrets)) expect(secret).toMatchObject({ external: true });
  });

  it('mounts files that are a valid configuration', async () => {
    const root = temporaryFolder();
    for (const { source, target } of services['gateway']?.configs ?? []) {
      mkdirSync(join(root, dirname(target)), { recursive: true });
      cpSync(resolve('deploy/swarm', configs[source]?.file ?? ''), join(root, target));
    }
    const env = { ADMIN_TOKEN: 'a'.repeat(48), FLEET_STORE: 'postgres://gateway@db/fleet', HOSTNAME: 'gateway.1.x' };
    const { code, stdout, stderr } = await runIn(join(root, 'app'), ['check', '--strict'], env);
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('routes.yaml is valid.'), '']);
  });
});
