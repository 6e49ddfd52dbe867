import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { FleetJson } from '../../gateway/operate/fleet/fleetJson.ts';
import type { UsageBy } from '../../gateway/usage/report/usageReport.ts';
import { startPostgres } from '../support/postgres.ts';
import { type CleanupSteps, runCleanup } from './support/cleanup.ts';
import { composeWith } from './support/compose.ts';
import { countByStatus, startLoad } from './support/load.ts';
import { waitForOk, waitUntil } from './support/stack.ts';
import { swarmWith } from './support/swarm.ts';

const provided = inject('composeProject');
// A Swarm is a state of the whole engine, so the engine of a developer is left alone.
const isSkipped = typeof provided === 'string' || !provided.hasOwnEngine;
if (isSkipped) console.log('The Swarm tests are SKIPPED: they run only in an engine that was started for them.');

describe.skipIf(isSkipped)('deploy/swarm/stack.yml in a Swarm', () => {
  const project = typeof provided === 'string' ? { folder: '', env: {}, hasOwnEngine: false } : provided;
  const compose = composeWith(project);
  const swarm = swarmWith(project, compose);
  const cleanup: CleanupSteps = [];
  const url = `http://127.0.0.1:${project.env['GATEWAY_PORT']}`;
  const routes = readFileSync('deploy/swarm/routes.yaml', 'utf8');
  const withInfo = (info: string): string =>
    routes.replace('    successor: /v2', `    info: ${info}\n    successor: /v2`);

  beforeAll(async () => {
    const postgres = await startPostgres();
    cleanup.push(() => postgres.stop());
    cleanup.push(() => swarm.leave());
    const host = await swarm.init();
    const store = new URL(await postgres.database());
    store.host = `${host}:${await forward(host, postgres.port)}`;
    await swarm.prepare({
      'version-gateway-admin': `ADMIN_TOKEN=${'a'.repeat(48)}\n`,
      'version-gateway-store': `FLEET_STORE=${store}\n`,
    });
    await swarm.deploy(routes);
    await waitForOk(`${url}/v1/drinks/7`);
    await waitForOk(`${url}/v2/cocktails/7`);
    await waitUntil(async () => (await swarm.containers('gateway')).length === 3, 'three gateways');
  });
  afterAll(() => runCleanup(cleanup));

  /** Runs a command in the container of one gateway, as docs/swarm.md shows. */
  async function command(...args: string[]): Promise<string> {
    const [id = ''] = await swarm.containers('gateway');
    return compose.docker('exec', id, 'node', '--env-file=/run/secrets/admin', 'dist/main.js', ...args);
  }

  it('runs commands in the container of a gateway, with the token from the secret', async () => {
    expect(await command('status')).toMatch(/\/v1 +deprecated/);
  });

  it('has three gateways that hear each other', async () => {
    const heard = async (): Promise<number> => {
      const { gateways } = JSON.parse(await command('fleet', '--format', 'json')) as FleetJson;
      return gateways.filter(({ state, ready }) => state === 'heard' && ready).length;
    };
    await waitUntil(async () => (await heard()) === 3, 'three gateways to be heard');
  });

  it('counts the requests of all gateways, whichever is asked', async () => {
    const load = startLoad(`${url}/v1/drinks/7`, 'counted', 4);
    await waitUntil(async () => load.responses.length > 200, '200 responses');
    const sent = (await load.stop()).length;
    let counted = 0;
    const isComplete = async (): Promise<boolean> => {
      const { rows } = JSON.parse(await command('usage', '/v1', '--format', 'json')) as UsageBy<'client'>;
      counted = rows.find(({ client }) => client.includes('counted'))?.requests ?? 0;
      return counted >= sent;
    };
    await waitUntil(isComplete, `${sent} requests in the shared ledger`);
    expect(counted).toBe(sent);
  });

  it('replaces all gateways without a lost request when routes.yaml changes', async () => {
    const before = await swarm.containers('gateway');
    const { state, statuses } = await updateUnderLoad(withInfo('https://example.com/rolling'));
    expect([state, statuses]).toEqual(['completed', { 200: expect.any(Number) }]);
    // The engine removes a replaced container some time after its task has ended.
    const isReplaced = async (): Promise<boolean> => {
      const after = await swarm.containers('gateway');
      return after.length === 3 && after.every((id) => !before.includes(id));
    };
    await waitUntil(isReplaced, 'three new gateways');
    for (let request = 0; request < 12; request += 1) expect(await link()).toContain('https://example.com/rolling');
  });

  it('undoes an update with a faulty routes.yaml without a lost request', async () => {
    const before = await swarm.containers('gateway');
    const { state, statuses } = await updateUnderLoad(routes.replace('prefix: strip', 'prefix: stripp'));
    expect([state, statuses]).toEqual(['rollback_completed', { 200: expect.any(Number) }]);
    expect((await swarm.containers('gateway')).filter((id) => before.includes(id)).length).toBeGreaterThanOrEqual(2);
    expect(await link()).toContain('https://example.com/rolling');
  });

  it('undoes an update that breaks a promise to clients', async () => {
    const { state, statuses } = await updateUnderLoad(routes.replace('sunset: 2029', 'sunset: 2027'));
    expect([state, statuses]).toEqual(['rollback_completed', { 200: expect.any(Number) }]);
    expect((await fetch(`${url}/v1/drinks/7`)).headers.get('sunset')).toContain('2029');
  });

  async function link(): Promise<string | null> {
    return (await fetch(`${url}/v1/drinks/7`)).headers.get('link');
  }

  /** Updates the gateways while clients send requests. Returns how the update ended, and the responses by status. */
  async function updateUnderLoad(text: string) {
    const load = startLoad(`${url}/v1/drinks/7`, 'load', 4);
    const startedAt = Date.now();
    const state = await swarm.update(text);
    const took = Date.now() - startedAt;
    const statuses = countByStatus(await load.stop());
    console.log(`${state} in ${took} ms under load: ${JSON.stringify(statuses)}`);
    return { state, statuses };
  }
});

/** Forwards connections from an address of this machine to a port of 127.0.0.1. Returns the port at that address. */
async function forward(address: string, port: number): Promise<number> {
  const server = createServer((socket) => {
    const target = connect(port, '127.0.0.1');
    pipeline(socket, target, socket, () => {});
  }).listen(0, address);
  await once(server, 'listening');
  server.unref();
  return (server.address() as AddressInfo).port;
}
