// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Compose expands them.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderOf } from '../../../config/compose/fixtures.ts';
import { runIn } from '../io.ts';

const routes = 'routes:\n  /v1: ${V1_URL:-http://127.0.0.1:3001}\n';
const compose = `services:
  gateway:
    image: version-gateway
    environment: { V1_URL: "http://v1:3001" }
  v1: { image: api, expose: [3001] }
`;
const files = { 'routes.yaml': routes, 'docker-compose.yml': compose };
const args = ['check', '--compose', 'docker-compose.yml'];
// A PATH without docker, whatever the machine has.
const nowhere = { PATH: '/nowhere' };

describe('files that cannot be checked', () => {
  it.each([
    ['no Compose file', ['check', '--compose', 'gone.yml'], 'gone.yml cannot be read: there is no such file\n'],
    ['no routes.yaml', [...args, '--config', 'gone.yaml'], 'gone.yaml cannot be read: there is no such file\n'],
  ])('%s', async (_what, line, stderr) => {
    expect(await runIn(folderOf(files), line, nowhere)).toEqual({ code: 2, stdout: '', stderr });
  });

  it('a service without a Compose file', async () => {
    const { code, stderr } = await runIn(folderOf(files), ['check', '--compose-service', 'gateway'], nowhere);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--compose-service requires --compose')]);
  });

  it('a routes.yaml that is not UTF-8', async () => {
    const folder = folderOf(files);
    writeFileSync(join(folder, 'routes.yaml'), new Uint8Array([0xff, 0xfe, 0x00]));
    const { code, stdout } = await runIn(folder, args, nowhere);
    expect([code, stdout]).toEqual([1, expect.stringContaining('The file is not UTF-8.')]);
  });

  it('a routes.yaml that is faulty in the environment of the gateway', async () => {
    const { code, stdout } = await runIn(folderOf({ ...files, 'routes.yaml': 'routes: { /v1: "$OTHER" }\n' }), args, {
      ...nowhere,
      OTHER: 'http://v1:3001',
    });
    expect(code).toBe(1);
    expect(stdout).toContain('The environment variable OTHER is not set.');
    expect(stdout).toContain('in the environment of the service `gateway`');
  });

  it('a project with an unreadable part', async () => {
    const { code, stdout } = await runIn(
      folderOf({ ...files, 'docker-compose.yml': `${compose}  v2: 1\n` }),
      args,
      nowhere,
    );
    expect(code).toBe(1);
    expect(stdout).toContain('A service must be a map.');
    expect(stdout).toContain('routes.yaml and docker-compose.yml do not match: 1 fault.');
  });
});

it('reports that two files match', async () => {
  const { code, stdout } = await runIn(folderOf(files), [...args, '--strict'], nowhere);
  expect([code, stdout]).toEqual([
    0,
    `routes.yaml and docker-compose.yml match.
  in the environment of the service \`gateway\`
  /v1  active  1 target
`,
  ]);
});

it('shows each finding with the line of its file, and counts faults and warnings', async () => {
  const text = compose.replace('[3001]', '[3002]').concat('  v9: { image: api }\n');
  const { code, stdout } = await runIn(folderOf({ ...files, 'docker-compose.yml': text }), args, nowhere);
  expect(code).toBe(1);
  expect(stdout).toBe(`routes.yaml:2:8  routes./v1
  http://v1:3001: v1 listens on 3002 (expose).  Write 3002, or add 3001 to expose if that port is right.  V1_URL is set at docker-compose.yml:4:20.
  2 |   /v1: \${V1_URL:-http://127.0.0.1:3001}
    |        ^

docker-compose.yml:6:3  services.v9  warning
  No route leads to v9, although gateway can reach it.  Add a route to it, or label it version-gateway.backend: "false" if it is no version of the API.
  6 |   v9: { image: api }
    |   ^

routes.yaml and docker-compose.yml do not match: 1 fault, 1 warning.
  in the environment of the service \`gateway\`
  /v1  active  1 target
`);
});

it('accepts warnings, except with --strict', async () => {
  const folder = folderOf({ ...files, 'docker-compose.yml': `${compose}  v9: { image: api }\n` });
  expect((await runIn(folder, args, nowhere)).code).toBe(0);
  expect((await runIn(folder, [...args, '--strict'], nowhere)).code).toBe(1);
});

it('takes several files, and the service of the gateway', async () => {
  const over = 'services: { gateway: { environment: [V1_URL=http://v2:1] } }\n';
  const folder = folderOf({ ...files, 'over.yml': over });
  const both = [...args, '--compose', 'over.yml', '--compose-service'];
  expect((await runIn(folder, [...both, 'gateway'], nowhere)).stdout).toContain('no service has the name v2');
  expect((await runIn(folder, [...both, 'gatewy'], nowhere)).stdout).toContain('Did you mean gateway?');
});

it('prints JSON', async () => {
  const folder = folderOf({ ...files, 'docker-compose.yml': `${compose}  v9: { image: api }\n` });
  const { code, stdout } = await runIn(folder, [...args, '--format', 'json'], {
    ...nowhere,
    COMPOSE_PROJECT_NAME: 'p',
  });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    file: 'routes.yaml',
    ok: true,
    faults: [],
    warnings: [{ file: 'docker-compose.yml', line: 6, column: 3, path: 'services.v9' }],
    versions: [{ version: '/v1', stage: 'active', targets: 1 }],
    compose: { files: ['docker-compose.yml'], project: 'p', gateway: 'gateway', running: null },
  });
});

it('shows no line with a secret of the environment', async () => {
  const text = compose.replace('{ V1_URL: "http://v1:3001" }', '\n      - ADMIN_TOKEN=correct-horse${GONE:?}');
  for (const format of ['text', 'json']) {
    const { code, stdout } = await runIn(
      folderOf({ ...files, 'docker-compose.yml': text }),
      [...args, '--format', format],
      nowhere,
    );
    expect([code, stdout.includes('GONE'), stdout.includes('correct')]).toEqual([1, true, false]);
  }
});

describe('the Docker engine', () => {
  const retired =
    'routes:\n  /v1: { retired: true, deprecation: 2026-01-01, sunset: 2026-06-30 }\n  /v2: http://v2:1\n';
  const project =
    'name: shop\nservices:\n  gateway: { image: version-gateway }\n  v1: { image: api }\n  v2: { image: api }\n';

  // Replaces the docker command. The tests check its arguments, too.
  async function withDocker(script: string) {
    const folder = folderOf({
      'routes.yaml': retired,
      'docker-compose.yml': project,
      docker: `#!/bin/sh\n${script}\n`,
    });
    chmodSync(join(folder, 'docker'), 0o755);
    return runIn(folder, args, { PATH: `${folder}:/bin:/usr/bin` });
  }

  it('lists the containers that still run', async () => {
    const { code, stdout } = await withDocker(
      'case "$*" in "ps --filter label=com.docker.compose.project=shop --format "*) printf "v1\\nv2\\n";; *) exit 1;; esac',
    );
    expect(code).toBe(0);
    expect(stdout).toContain('but its container still runs.');
    expect(stdout).toContain('`docker compose stop v1`');
  });

  it.each([
    ['lists none', 'exit 0'],
    ['is not there', 'echo Cannot connect >&2; exit 1'],
    ['does not answer', 'exec sleep 300'],
    ['never stops answering', 'while :; do echo v1; done'],
  ])('is ignored when it %s', async (_what, script) => {
    const { code, stdout } = await withDocker(script);
    expect(code).toBe(0);
    expect(stdout).toContain('but `docker compose up` starts it.');
  });
});

it('allows versions without an upstream with --no-upstreams', async () => {
  const folder = folderOf({ ...files, 'routes.yaml': 'routes:\n  /v1: {}\n' });
  expect((await runIn(folder, args, nowhere)).stdout).toContain('/v1 has no upstream.');
  expect((await runIn(folder, [...args, '--no-upstreams'], nowhere)).stdout).not.toContain('/v1 has no upstream.');
});
