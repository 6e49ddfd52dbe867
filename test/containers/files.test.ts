import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { temporaryFolder } from '../config/temporary.ts';
import { runIn } from '../process/cli/io.ts';

const read = (file: string): string => readFileSync(file, 'utf8');

/** The schema of the Compose Specification, from the package that the container tests use. */
function composeSpec() {
  const main = createRequire(import.meta.url).resolve('docker-compose');
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // Its URL of draft-07 begins with https; that of the draft itself begins with http.
  const { $schema, ...schema } = JSON.parse(read(join(dirname(main), '..', 'schema', 'compose-spec.json')));
  expect($schema).toContain('draft-07');
  return ajv.compile(schema);
}

const compositions = [
  'docker-compose.yml',
  'docker-compose.scale.yml',
  'docker-compose.fleet.yml',
  'deploy/swarm/stack.yml',
];

describe.each(compositions)('%s', (file) => {
  it('is valid by the Compose Specification', () => {
    const validate = composeSpec();
    expect([validate(parse(read(file))), validate.errors]).toEqual([true, null]);
  });
});

describe.each(['docker-compose.yml', 'docker-compose.fleet.yml'])('%s', (file) => {
  const { services } = parse(read(file)) as { services: Record<string, Record<string, unknown>> };

  // A service that extends one of the other file is confined there.
  it.each(Object.entries(services).filter(([, service]) => !('extends' in service)))(
    'confines %s',
    (_name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        restart: 'unless-stopped',
        mem_limit: expect.any(String),
        pids_limit: expect.any(Number),
      });
      expect(service).not.toHaveProperty('depends_on');
    },
  );
});

it('an unknown key is not valid by the Compose Specification', () => {
  expect(composeSpec()({ services: { v1: { image: 'a', retires: true } } })).toBe(false);
});

describe('docker-compose.yml', () => {
  const { services, networks } = parse(read('docker-compose.yml')) as {
    services: Record<string, Record<string, unknown>>;
    networks: Record<string, unknown>;
  };

  it('mounts folders only, read-only, and never the project itself', () => {
    const volumes = services['gateway']?.['volumes'];
    const mounts = Array.isArray(volumes) ? volumes.filter((mount) => String(mount).startsWith('.')) : [];
    expect(mounts).toEqual([
      './config:/app/config:ro',
      './services/v1/contract:/app/services/v1/contract:ro',
      './services/v2/contract:/app/services/v2/contract:ro',
    ]);
  });

  it('publishes no port of a backend', () => {
    expect(Object.keys(services).filter((name) => services[name]?.['ports'] !== undefined)).toEqual(['gateway']);
    expect(networks['backends']).toMatchObject({ internal: true });
  });
});

describe('config/routes.yaml and docker-compose.yml', () => {
  // No docker is found on this PATH: running containers must not change the result.
  const env = { PATH: '/nowhere', ADMIN_TOKEN: 'a'.repeat(48) };
  const check = async (change: Record<string, (text: string) => string> = {}, given: NodeJS.ProcessEnv = env) => {
    const cwd = temporaryFolder();
    for (const file of ['docker-compose.yml', 'config', 'services/v1/contract', 'services/v2/contract'])
      cpSync(file, join(cwd, file), { recursive: true });
    for (const [file, edit] of Object.entries(change)) {
      const changed = edit(read(file));
      expect(changed).not.toBe(read(file));
      writeFileSync(join(cwd, file), changed);
    }
    return runIn(cwd, ['check', '--compose', 'docker-compose.yml', '--strict'], given);
  };
  const compose = (from: string, to: string) => ({ 'docker-compose.yml': (text: string) => text.replace(from, to) });
  const retire = (text: string) => text.replace('  /v1:\n', '  /v1:\n    retired: true\n');

  it('match', async () => {
    const { code, stdout } = await check();
    expect(stdout).toContain('config/routes.yaml and docker-compose.yml match.');
    expect(code).toBe(0);
  });

  it('are compared without a token, too, and the report has the command that makes one', async () => {
    const { code, stdout } = await check(compose('http://v2:3002', 'http://v2:3003'), { PATH: '/nowhere' });
    expect(code).toBe(1);
    expect(stdout).toContain('The variable ADMIN_TOKEN is required here');
    expect(stdout).toContain('(umask 077; openssl rand -hex 24 | sed s/^/ADMIN_TOKEN=/ >> .env)');
    expect(stdout).toContain('v2 listens on 3002 (expose).');
    expect(stdout).toContain('2 faults.');
  });

  it.each<[string, Parameters<typeof check>[0], string]>([
    ['another port', compose('http://v2:3002', 'http://v2:3003'), 'v2 listens on 3002 (expose).'],
    ['another name', compose('http://v2:3002', 'http://v3:3002'), 'no service has the name v3'],
    ['a retired version', { 'config/routes.yaml': retire }, '/v1 is retired and no longer needs v1'],
    [
      'a service without a route',
      compose('  v2:\n', '  v9:\n    image: api\n    networks: [backends]\n\n  v2:\n'),
      'No route leads to v9',
    ],
  ])('do not match with %s', async (_what, change, finding) => {
    const { code, stdout } = await check(change);
    expect([code, stdout]).toEqual([1, expect.stringContaining(finding)]);
    expect(stdout).toMatch(/: 1 (?:fault|warning)\.$/m);
  });
});

describe.each([
  ['gateway/Dockerfile', 'package.json'],
  ['services/v1/Dockerfile', 'services/v1/package.json'],
  ['services/v2/Dockerfile', 'services/v2/package.json'],
])('%s', (file, manifest) => {
  const text = read(file);

  it('has the version of its package', () => {
    const { version } = JSON.parse(read(manifest)) as { version: string };
    expect(text).toContain(`org.opencontainers.image.version="${version}"`);
  });

  it('has the common base image, a user, a health check, and SIGTERM as its stop signal', () => {
    expect(new Set(text.match(/^FROM \S+/gm))).toEqual(new Set(['FROM node:26-bookworm-slim']));
    expect(text).toMatch(/^USER node$/m);
    expect(text).toMatch(/^STOPSIGNAL SIGTERM$/m);
    expect(text).toMatch(/^HEALTHCHECK [^[]*CMD \[/ms);
    expect(text).toMatch(/^ENTRYPOINT \["node"/m);
  });
});

it.each(['services/v1', 'services/v2'])('%s locks the packages of its image, and names no registry', (folder) => {
  const lock = read(`${folder}/package-lock.json`);
  expect(JSON.parse(lock).packages[''].dependencies).toEqual(JSON.parse(read(`${folder}/package.json`)).dependencies);
  expect(lock).not.toContain('"resolved"');
});
