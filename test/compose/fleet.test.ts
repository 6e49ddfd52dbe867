import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { FleetJson } from '../../gateway/operate/fleet/fleetJson.ts';
import type { UsageBy } from '../../gateway/usage/report/usageReport.ts';
import type { VerdictJson } from '../../gateway/versions/retirement/verdictJson.ts';
import { type CleanupSteps, runCleanup } from './support/cleanup.ts';
import { composeWith } from './support/compose.ts';
import { provideFleetImages } from './support/fleetImages.ts';
import { countByStatus, startLoad } from './support/load.ts';
import { commandsOf, runAsWritten } from './support/page.ts';
import { skipped, waitForOk, waitUntil } from './support/stack.ts';

const provided = inject('composeProject');
const file = 'docker-compose.fleet.yml';

describe.skipIf(skipped)(file, () => {
  const project = typeof provided === 'string' ? { folder: '', env: {}, hasOwnEngine: false } : provided;
  const compose = composeWith(project, [file]);
  const url = `http://127.0.0.1:${project.env['GATEWAY_PORT']}`;
  const cleanup: CleanupSteps = [];

  beforeAll(async () => {
    await provideFleetImages(project, readFileSync(file, 'utf8'), cleanup);
    copyFileSync('config/routes.yaml', join(project.folder, 'config', 'routes.yaml'));
    const makesPassword = commandsOf('docs/swarm.md').find((command) => command.includes('STORE_PASSWORD=')) ?? '';
    expect(await runAsWritten(makesPassword, project)).toMatchObject({ code: 0 });
    cleanup.push(() => compose.down());
    await compose.up();
    await waitForOk(`${url}/v1/drinks/7`);
  });
  afterAll(() => runCleanup(cleanup));

  /** Runs a command in the container of a gateway. Returns its output, whatever its exit code. */
  async function command<Body>(container: string, ...args: string[]): Promise<Body> {
    const script = `version-gateway ${args.join(' ')} --format json || true`;
    return JSON.parse(await compose.docker('exec', container, 'sh', '-c', script)) as Body;
  }

  async function heard(container: string): Promise<number> {
    const { gateways } = await command<FleetJson>(container, 'fleet');
    return gateways.filter(({ state, ready }) => state === 'heard' && ready).length;
  }

  it('runs three gateways that hear each other', async () => {
    const gateways = await compose.containers('gateway');
    expect(gateways).toHaveLength(3);
    for (const one of gateways) await waitUntil(async () => (await heard(one)) === 3, 'three gateways to be heard');
    expect((await fetch(`http://127.0.0.1:${project.env['ADMIN_PORT']}/healthz`)).status).toBe(200);
  });

  it('shows a call to one gateway on all of them', async () => {
    const gateways = await compose.containers('gateway');
    const call = `fetch('http://127.0.0.1:8080/v1/drinks/7', { headers: { 'x-client-id': 'one-call' } })`;
    await compose.docker('exec', gateways[0] ?? '', 'node', '-e', call);
    for (const one of gateways) {
      const isCounted = async (): Promise<boolean> => {
        const { rows } = await command<UsageBy<'client'>>(one, 'usage', '/v1');
        return rows.find(({ client }) => client === 'x-client-id:one-call')?.requests === 1;
      };
      await waitUntil(isCounted, 'the call in the shared ledger');
    }
  });

  it('answers while one gateway is killed, and does not let a version be retired without its counts', async () => {
    const [killed = '', other = ''] = await compose.containers('gateway');
    const load = startLoad(`${url}/v2/cocktails/7`, 'load', 4);
    await waitUntil(async () => load.responses.length > 100, '100 responses');
    await compose.docker('kill', killed);
    const before = load.responses.length;
    await waitUntil(async () => load.responses.length > before + 500, '500 further responses');
    const reason = `Gateway ${killed.slice(0, 12)} has not been heard for`;
    let verdict: VerdictJson | undefined;
    const isMissed = async (): Promise<boolean> => {
      verdict = await command<VerdictJson>(other, 'can-retire', '/v1');
      return verdict.reasons.some(({ text }) => text.startsWith(reason));
    };
    await waitUntil(isMissed, 'the verdict to name the gateway');
    expect(verdict?.answer).toBe('not yet');
    const statuses = countByStatus(await load.stop());
    console.log(`one of three gateways was killed under load: ${JSON.stringify(statuses)}`);
    expect(statuses).toEqual({ 200: expect.any(Number) });
  });
});
