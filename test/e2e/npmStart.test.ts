import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../bench/support/ports.ts';
import { eventually } from '../support/eventually.ts';
import { type Running, run } from '../support/process.ts';
import { copyShippedRoutes } from '../support/shipped.ts';

interface Ports {
  readonly gateway: number;
  readonly admin: number;
  readonly v1: number;
  readonly v2: number;
}

async function choosePorts(): Promise<Ports> {
  return { gateway: await freePort(), admin: await freePort(), v1: await freePort(), v2: await freePort() };
}

/** Runs `npm start` on the test's own ports. */
function npmStart({ gateway, admin, v1, v2 }: Ports): Running {
  const env = { PORT: String(gateway), V1_PORT: String(v1), V2_PORT: String(v2) };
  return run('npm', ['start', '--', '--config', copyShippedRoutes(), '--admin', `127.0.0.1:${admin}`], env);
}

async function begun(ports: Ports): Promise<Running> {
  const all = npmStart(ports);
  for (const pattern of [/^\[v1\] .*listening/m, /^\[v2\] .*listening/m, /readyz/]) await all.printed(pattern);
  return all;
}

/** Waits until every port can be listened on again. */
async function allFree(ports: Ports): Promise<void> {
  for (const port of Object.values(ports)) {
    await eventually(async () => {
      const server = createServer().listen(port, '127.0.0.1');
      await once(server, 'listening').finally(() => server.close());
    });
  }
}

it('serves both services on their own ports, and logs readable lines', async () => {
  const ports = await choosePorts();
  const all = await begun(ports);
  for (const path of ['/v1/drinks/7', '/v2/cocktails/7'])
    expect((await fetch(`http://127.0.0.1:${ports.gateway}${path}`)).status).toBe(200);
  await all.printed(/^\[gateway\] \[[\d:.]+\] INFO: GET \/v1\/drinks\/7 → 200 in \S+ ms/m);
  expect((await fetch(`http://127.0.0.1:${ports.v2}/v2/cocktails/7`)).status).toBe(200);
});

it.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('frees every port when npm gets %s', async (signal) => {
  const ports = await choosePorts();
  const { child } = await begun(ports);
  // Only npm and not its process group, as with `npm start & kill $!`.
  child.kill(signal);
  await allFree(ports);
});

it('frees every port when npx gets SIGTERM', async () => {
  const ports = await choosePorts();
  const addresses = ['--listen', `127.0.0.1:${ports.gateway}`, '--admin', `127.0.0.1:${ports.admin}`];
  const gateway = run('npx', ['version-gateway', 'start', '--config', copyShippedRoutes(), ...addresses]);
  await gateway.printed(/readyz/);
  gateway.child.kill('SIGTERM');
  await allFree(ports);
});

it('ends with an exit code and frees every port when one program fails', async () => {
  const ports = await choosePorts();
  const taken = createServer().listen(ports.v2, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const all = npmStart(ports);
  const [code] = await once(all.child, 'close');
  expect(code).toBe(1);
  expect(all.output()).toContain('[v2] cocktails v2 cannot serve');
  expect(all.output()).toContain(
    'npm start: v2 ended with exit code 1; stopping the others.  If its port is in use, set V2_PORT to another one.',
  );
  taken.close();
  await allFree(ports);
});

it('ends although its output is not read', async () => {
  const ports = await choosePorts();
  const { child } = await begun(ports);
  child.stdout?.destroy();
  child.stderr?.destroy();
  await fetch(`http://127.0.0.1:${ports.gateway}/v1/drinks/7`);
  await allFree(ports);
});

it('names the required Node version on a Node that is too old', async () => {
  const pretend = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})`;
  const start = run(process.execPath, ['--import', pretend, 'tools/start.js']);
  expect(await once(start.child, 'close')).toEqual([2, null]);
  expect(start.output()).toMatch(
    /^npm start: Node 24 or later is needed, and this is .*npm ci, which installs it.*\n$/,
  );
});

it('prints the help of the gateway and starts nothing', async () => {
  const start = run(process.execPath, ['tools/start.js', '--help']);
  expect(await once(start.child, 'close')).toEqual([0, null]);
  expect(start.output()).toMatch(/^PORT, V1_PORT and V2_PORT set the ports\..*Usage: version-gateway start/s);
  expect(start.output()).not.toContain('[gateway]');
});

it.each(['PORT', 'V1_PORT', 'V2_PORT'])('names %s if it is not a port', async (name) => {
  const start = run(process.execPath, ['tools/start.js'], { [name]: 'abc' });
  expect(await once(start.child, 'close')).toEqual([2, null]);
  expect(start.output()).toBe(`npm start: ${name}=abc is not a port.  Set it to a number from 0 to 65535.\n`);
});
