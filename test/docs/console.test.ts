import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { gatewayCommand } from '../support/gatewayMain.ts';
import { run } from '../support/process.ts';
import { readmeBlock } from '../support/readme.ts';
import { consoleBlocks, type ShownCommand } from './consoleBlocks.ts';

/** Where the commands of a block run, and which ports replace those of the page. */
interface Place {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A port as the page shows it, and the one in use. */
  readonly ports?: readonly (readonly [shown: number, real: number])[];
}

// Fields that differ from run to run.
const varyingField = /^(?:Content-Length|ETag|Date|Via|Connection|Keep-Alive|X-Request-Id|Cache-Control):/i;
const program = gatewayCommand;

const scenarios: Readonly<Record<string, (commands: readonly ShownCommand[]) => Promise<void>>> = {
  'README.md: curl -i': async (commands) => check(commands, await startSamples()),

  'docs/discovery.md: curl http://127.0.0.1:8080/': async (commands) => check(commands, await startSamples()),

  'docs/troubleshooting.md: npx version-gateway check': async (commands) => {
    const folder = folderWith({
      'routes.yaml': readmeRoutes()
        .replace(/deprecation: .*/, 'deprecation: 2026-06-30')
        .replace(/sunset: .*/, 'sunset: 2026-05-01'),
    });
    await check(commands, { folder });
  },

  'docs/reload.md: curl -X POST': async ([shown]) => {
    const announced = announcedRoutes();
    const active = announced.replace(/ +(?:deprecation|sunset): .*\n/g, '');
    const place = await startSamples(active);
    const file = join(place.folder, 'routes.yaml');
    const outputAfterEdit = async (text: string): Promise<string> => {
      writeFileSync(file, withRealPorts(text, place.ports));
      // Keeps the gateway from applying the edit by itself: it waits while a file grows.
      const growth = setInterval(() => appendFileSync(file, '#\n'), 20);
      try {
        return await output(shown?.command ?? '', place);
      } finally {
        clearInterval(growth);
      }
    };
    // On a busy machine the file may not grow for long enough that the gateway applies the edit. The command then reports
    // no change: try again.
    await expect
      .poll(
        async () => {
          await outputAfterEdit(active);
          return await outputAfterEdit(announced);
        },
        { timeout: 60_000 },
      )
      .toBe(shown?.output);
  },

  'docs/reload.md: npx version-gateway check --against-running': async (commands) => {
    const announced = announcedRoutes();
    const place = await startSamples(announced.replace(/ +sunset: .*\n/, ''));
    const folder = folderWith({ 'routes.yaml': withRealPorts(announced, place.ports) });
    const named = (text: string): string => text.replace(/ uses \S+, not routes\.yaml\./, ', with routes.yaml.');
    await check(commands, { ...place, folder }, (text) =>
      named(text).replace(/since \d\S+Z/, 'since 2026-11-20T09:00:00Z'),
    );
  },

  'docs/running.md: npx version-gateway status': async ([shown]) => {
    const held: ServerResponse[] = [];
    const backend = createServer((_req, res) => void held.push(res)).listen(0, '127.0.0.1');
    onTestFinished(() => void backend.close());
    await once(backend, 'listening');
    const { port } = backend.address() as AddressInfo;
    const routes = (retired: boolean): string =>
      `guard: { force: { /v1: "a test" } }
routes:
  /v1: { upstream: "http://127.0.0.1:${port}", deprecation: 2026-01-01, retired: ${retired} }
  /v2: { upstream: "http://127.0.0.1:1" }
`;
    const place = await startGateway(routes(false).replace(/^guard.*\n/, ''));
    const url = withRealPorts('http://127.0.0.1:8080/v1/', place.ports);
    for (let request = 0; request < 3; request += 1) get(url, (response) => response.resume());
    await expect.poll(() => held.length).toBe(3);
    writeFileSync(join(place.folder, 'routes.yaml'), routes(true));
    await expect.poll(() => output('npx version-gateway status', place)).toMatch(/\/v1 +retired/);
    let printed = '';
    const release = (count: number): void => held.splice(0, count).forEach((response) => void response.end());
    await output(shown?.command ?? '', place, (text) => {
      printed = text;
      if (text.endsWith('3 requests in flight\n')) release(2);
      if (text.endsWith('1 request in flight\n')) release(1);
    });
    const [named = '', ...lines] = printed.trimEnd().split('\n');
    expect(named).toMatch(/^Gateway \S+ at http:\/\/127\.0\.0\.1:\d+, with routes\.yaml\.$/);
    expect(lines).toEqual(shown?.output.split('\n').slice(1));
  },

  'docs/usage.md: npx version-gateway tag': async (commands) => {
    const folder = folderWith({ 'routes.yaml': `${readmeRoutes()}usage: { store: usage.db }\n`, key: 'secret-4711\n' });
    const gateway = await startGateway(readFileSync(join(folder, 'routes.yaml'), 'utf8'), folder);
    await check(commands, gateway, (text) => text.replace(/#[0-9a-f]{16}/, '#4f2a91c07be05d3a'));
  },

  'docs/dashboard.md: curl -H': async (commands) => {
    const routes = `${readmeRoutes()}gateway: { admin_token: a-long-admin-token }\nusage: { names: names.yaml }\n`;
    const folder = folderWith({ 'names.yaml': '# Names of clients.\n' });
    const gateway = await startGateway(routes, folder);
    await check(commands, { ...gateway, env: { ADMIN_TOKEN: 'a-long-admin-token' } });
    expect(readFileSync(join(folder, 'names.yaml'), 'utf8')).toContain('# Names of clients.');
  },

  'docs/containers.md: npx version-gateway check': async (commands) => {
    await check(commands, {
      // No container engine listens there.
      env: { DOCKER_HOST: 'unix:///nowhere/docker.sock' },
      folder: folderWith({
        'routes.yaml': [
          '# The versions of the API.',
          'routes:',
          '  /v1: { retired: true, deprecation: 2026-01-01, sunset: 2026-06-30 }',
          '',
          '  /v2:',
          '    upstream: $' + '{V2_URL:-http://127.0.0.1:3002}',
          '',
        ].join('\n'),
        'docker-compose.yml': [
          'services:',
          '  gateway:',
          '    image: version-gateway',
          '    volumes: ["./:/app/config:ro"]',
          '    environment: { ADMIN_TOKEN: x }',
          '    networks: [default]',
          '',
          '  v2: { image: v2, expose: ["3002"] }',
          '  v1: { build: services/v1 }',
          '',
        ].join('\n'),
      }),
    });
  },

  'docs/migration.md: npx version-gateway migrate': async (commands) => {
    const folder = folderWith({
      'config/routes.yaml': readFileSync('config/routes.yaml', 'utf8'),
      'services/v1/contract/openapi.yaml': readFileSync('services/v1/contract/openapi.yaml', 'utf8'),
      'services/v2/contract/openapi.yaml': readFileSync('services/v2/contract/openapi.yaml', 'utf8'),
    });
    await check(commands, { folder });
    expect(readFileSync(join(folder, 'guide.md'), 'utf8')).toMatch(/^# .*v1.*v2/);
    expect(readFileSync(join(folder, 'guide.html'), 'utf8')).toMatch(/^<!doctype html>/i);
  },

  'docs/migration.md: npx version-gateway moved': async (commands) => {
    const contract = (...paths: string[]): string =>
      JSON.stringify({
        openapi: '3.1.0',
        info: { title: 'API', version: '1.0.0' },
        paths: Object.fromEntries(paths.map((path) => [path, { get: operationOf(path) }])),
      });
    const withoutMoved = readmeRoutes().replace(/ +moved: .*\n/, '');
    const routes = `${withoutMoved.replace('/v1:', '/v1:\n    contract: v1.json')}    contract: v2.json\n`;
    const folder = folderWith({
      'routes.yaml': routes,
      'v1.json': contract('/drinks/{id}', '/legacy-search'),
      'v2.json': contract('/drink/{id}'),
    });
    await check(commands, { folder });
  },
};

// Blocks that another test runs.
const elsewhere: Readonly<Record<string, string>> = {
  'docs/compat.md: npx version-gateway compat': 'test/docs/compat.test.ts',
  'docs/retire-a-version.md: ': 'test/e2e/retirePage.test.ts',
};

describe('the console blocks of the documentation', () => {
  const blocks = consoleBlocks();

  it.each(blocks.map(({ page, commands }) => [`${page}: ${commands[0]?.command}`, commands] as const))(
    '%s',
    async (name, commands) => {
      const keyOf = (all: object): string | undefined => Object.keys(all).findLast((key) => name.startsWith(key));
      if (keyOf(elsewhere) !== undefined) return;
      const scenario = scenarios[keyOf(scenarios) ?? ''];
      if (!scenario) throw new Error(`${name}: add a scenario that runs this block`);
      await scenario(commands);
    },
  );

  it('have every scenario of this test', () => {
    const names = blocks.map(({ page, commands }) => `${page}: ${commands[0]?.command}`);
    const unused = Object.keys({ ...scenarios, ...elsewhere }).filter(
      (key) => !names.some((name) => name.startsWith(key)),
    );
    expect(unused).toEqual([]);
  });
});

function readmeRoutes(): string {
  return readmeBlock('yaml', 'routes:');
}

/** With a sunset in the future. */
function announcedRoutes(): string {
  return readmeRoutes()
    .replace(/deprecation: .*/, 'deprecation: 2026-06-30')
    .replace(/sunset: .*/, 'sunset: 2029-06-30')
    .replace(/ +after_sunset: .*\n/, '');
}

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** The gateway with both sample services. */
async function startSamples(routes = readmeRoutes()): Promise<Place> {
  const services = ['v1', 'v2'].map(async (name) => {
    const service = run(process.execPath, [`services/${name}/server.ts`], { PORT: '0' });
    return Number((await service.printed(/listening on \S+:(\d+)/))[1]);
  });
  const [v1 = 0, v2 = 0] = await Promise.all(services);
  const ports = [[3001, v1] as const, [3002, v2] as const];
  const gateway = await startGateway(withRealPorts(routes, ports));
  return { ...gateway, ports: [...(gateway.ports ?? []), ...ports] };
}

async function startGateway(routes: string, folder = temporaryFolder()): Promise<Place> {
  writeFileSync(join(folder, 'routes.yaml'), routes);
  const anyPorts = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
  const gateway = run(process.execPath, [program, 'start', '--config', join(folder, 'routes.yaml'), ...anyPorts]);
  const listen = Number((await gateway.printed(/listens on \S+:(\d+)/))[1]);
  const admin = Number((await gateway.printed(/Dashboard: \S+:(\d+)/))[1]);
  return {
    folder,
    ports: [
      [8080, listen],
      [9901, admin],
    ],
  };
}

/** Runs the commands in order. A line `…` of the page stands for any number of lines. */
async function check(
  commands: readonly ShownCommand[],
  place: Place,
  mask: (text: string) => string = (text) => text,
): Promise<void> {
  for (const { command, output: shown } of commands) {
    const printed = mask(await output(command, place));
    const lines = printed.split('\n').filter((line) => !command.startsWith('curl -i') || !varyingField.test(line));
    const pattern = shown.split('\n').map((line) => (line === '…' ? '(?:.*\n)*?' : `${RegExp.escape(line)}\n`));
    expect(`${lines.join('\n')}\n`, command).toMatch(new RegExp(`^${pattern.join('')}$`));
  }
}

/** The output of `command` in a shell, with the ports of the page. */
async function output(
  command: string,
  { folder, env, ports = [] }: Place,
  onOutput: (text: string) => void = () => {},
): Promise<string> {
  const admin = ports.find(([shown]) => shown === 9901)?.[1];
  const asksGateway = admin !== undefined && /status|--against-running|can-retire|usage/.test(command);
  const script = `npx() { shift; "$NODE" "$PROGRAM" "$@"${asksGateway ? ` --admin 127.0.0.1:${admin}` : ''}; }
curl() { command curl --silent "$@"; }
${withRealPorts(command, ports)}`;
  const child = spawn('bash', ['-c', script], {
    cwd: folder,
    env: { ...process.env, NODE: process.execPath, PROGRAM: program, ...env },
  });
  let text = '';
  const add = (chunk: Buffer): void => {
    text += String(chunk);
    onOutput(text);
  };
  child.stdout.on('data', add);
  child.stderr.on('data', add);
  await once(child, 'close');
  const shownPorts = ports.reduce((result, [shown, real]) => result.replaceAll(`:${real}`, `:${shown}`), text);
  // A gateway that is not in a fleet is named after its host.
  return shownPorts.replaceAll('\r', '').replaceAll(`Gateway ${hostname()} `, 'Gateway web-1 ').trimEnd();
}

function withRealPorts(text: string, ports: Place['ports'] = []): string {
  return ports.reduce((result, [shown, real]) => result.replaceAll(`:${shown}`, `:${real}`), text);
}

function operationOf(path: string): object {
  const parameters = path.includes('{id}')
    ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }]
    : [];
  return { parameters, responses: { '200': { description: 'OK' } } };
}
