import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
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
  const url = `http://127.0.0.1:${project.env['GATEWAY_PORT']}`;
  const routes = readFileSync('deploy/swarm/routes.yaml', 'utf8');
  const withInfo = (info: string): string =>
    routes.replace('    successor: /v2', `    info: ${info}\n    successor: /v2`);

  beforeAll(async () => {
    await swarm.begin({
      'version-gateway-admin': `ADMIN_TOKEN=${'a'.repeat(48)}\n`,
      'version-gateway-store': 'FLEET_STORE=postgres://gateway:secret@127.0.0.1:1/gateway\n',
    });
    await swarm.deploy(routes);
    await waitForOk(`${url}/v1/drinks/7`, 120_000);
    await waitForOk(`${url}/v2/cocktails/7`, 60_000);
    await waitUntil(async () => (await swarm.containers('gateway')).length === 3, 'three gateways', 60_000);
  }, 300_000);
  afterAll(() => swarm.end(), 90_000);

  it('runs commands in the container of a gateway, with the token from the secret', async () => {
    const [id = ''] = await swarm.containers('gateway');
    const status = ['node', '--env-file=/run/secrets/admin', 'dist/main.js', 'status'];
    expect(await compose.docker('exec', id, ...status)).toMatch(/\/v1 +deprecated/);
  });

  it('replaces all gateways without a lost request when routes.yaml changes', { timeout: 300_000 }, async () => {
    const before = await swarm.containers('gateway');
    const { state, statuses } = await updateUnderLoad(withInfo('https://example.com/rolling'));
    expect([state, statuses]).toEqual(['completed', { 200: expect.any(Number) }]);
    const after = await swarm.containers('gateway');
    expect(after).toHaveLength(3);
    expect(after.filter((id) => before.includes(id))).toEqual([]);
    for (let request = 0; request < 12; request += 1) expect(await link()).toContain('https://example.com/rolling');
  });

  it('undoes an update with a faulty routes.yaml without a lost request', { timeout: 300_000 }, async () => {
    const before = await swarm.containers('gateway');
    const { state, statuses } = await updateUnderLoad(routes.replace('prefix: strip', 'prefix: stripp'));
    expect([state, statuses]).toEqual(['rollback_completed', { 200: expect.any(Number) }]);
    expect((await swarm.containers('gateway')).filter((id) => before.includes(id)).length).toBeGreaterThanOrEqual(2);
    expect(await link()).toContain('https://example.com/rolling');
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
