import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseDocument } from 'yaml';
import { followRetirePage } from '../support/walkThrough.ts';
import { countByStatus, startLoad } from './support/load.ts';
import { runAsWritten } from './support/page.ts';
import { skipped, useStack, waitForOk, waitUntil } from './support/stack.ts';

// Seconds instead of days.
const shortPeriods = 'guard: { quiet: 2s, notice: 1s }\nretire: { quiet: 8s }\n';
const longerThanQuietMs = 2_500;
const v2 = '  /v2: { upstream: "http://v2:3002", prefix: forward }\n';
// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of routes.yaml
const rest = 'gateway: { admin_token: "${ADMIN_TOKEN}" }\nusage: { store: ../.version-gateway/usage.db }\n';

describe.skipIf(skipped)('docs/retire-a-version.md', () => {
  const { project, url, routes } = useStack();

  it('works as written with containers', () =>
    followRetirePage('docs/retire-a-version.md', {
      routes,
      url,
      run: (command) =>
        runAsWritten(command.replace('npx version-gateway', 'docker compose exec gateway version-gateway'), project),
    }));
});

describe.skipIf(skipped)('the retirement of v1', () => {
  const { compose, project, url, admin, token, routes } = useStack();
  const edit = (v1: string): void => {
    const text = `routes:\n${v1 === '' ? '' : `  /v1: { upstream: "http://v1:3001", moved: { "/drinks/{id}": "/cocktails/{id}" }, ${v1} }\n`}${v2}${shortPeriods}${rest}`;
    writeFileSync(`${routes}.new`, text);
    renameSync(`${routes}.new`, routes);
  };

  const run = (command: string) => runAsWritten(command, project);
  const v1Status = async () => (await fetch(`${url}/v1/drinks/7`, { redirect: 'manual' })).status;
  // A request to /v1 would be counted as use and delay the retirement.
  const stageOfV1 = async () => {
    const response = await fetch(`${admin}/api/status`, { headers: { authorization: `Bearer ${token}` } });
    const { versions } = (await response.json()) as { versions: { version: string; stage: string }[] };
    return versions.find(({ version }) => version === 'v1')?.stage;
  };
  const headersOfV1 = async () => (await fetch(`${url}/v1/drinks/7`)).headers;

  it('goes from deprecation to removal without a failed request to v2', async () => {
    // The file has other dates than the shipped one. A restart accepts them, because the guard compares only reloads.
    edit('prefix: strip');
    await compose.upOne('gateway', '--force-recreate');
    await waitForOk(`${url}/v1/drinks/7`);
    await waitForOk(`${url}/v2/cocktails/7`);
    const current = startLoad(`${url}/v2/cocktails/7`, 'moved-already', 2);
    edit('deprecation: 2026-06-30');
    await waitUntil(async () => (await headersOfV1()).has('deprecation'), 'Deprecation');
    expect((await run('curl --head http://127.0.0.1:8080/v1/drinks/7')).stdout).toMatch(/deprecation: @1782777600/i);

    const straggler = startLoad(`${url}/v1/drinks/7`, 'straggler', 1);
    const sunset = Date.now() + 30_000;
    const dates = `deprecation: 2026-06-30, sunset: "${new Date(sunset).toISOString()}"`;
    edit(dates);
    await waitUntil(async () => (await headersOfV1()).has('sunset'), 'Sunset');
    const canRetire = 'docker compose exec gateway version-gateway can-retire /v1';
    await waitUntil(async () => (await run(canRetire)).stdout.includes('straggler'), 'the client in the ledger');
    const early = await run(canRetire);
    expect([early.code, early.stdout]).toEqual([1, expect.stringMatching(/not yet/i)]);
    expect((await run('docker compose exec gateway version-gateway usage /v1')).stdout).toContain('straggler');

    expect(Object.keys(countByStatus(await straggler.stop()))).toEqual(['200']);
    // The sunset and the quiet period have to pass first.
    await waitUntil(async () => (await run(canRetire)).code === 0, 'can-retire to exit with 0');

    edit(`retired: true, ${dates}`);
    await waitUntil(async () => (await stageOfV1()) === 'retired', 'the tombstone');
    expect(await v1Status()).toBe(410);
    const gone = await fetch(`${url}/v1/drinks/7`);
    expect(await gone.json()).toMatchObject({ status: 410, successor: expect.stringContaining('/v2') });
    expect(await run('docker compose exec gateway version-gateway status --wait /v1')).toEqual({
      code: 0,
      stdout: '/v1: 0 requests in flight, safe to stop\n',
    });
    expect((await run('docker compose stop v1')).code).toBe(0);
    expect(await v1Status()).toBe(410);

    expect((await run('docker compose start v1')).code).toBe(0);
    edit(dates);
    await waitUntil(async () => (await v1Status()) === 200, 'v1 to be served again');

    await sleep(longerThanQuietMs);
    edit(`retired: true, ${dates}`);
    await waitUntil(async () => (await stageOfV1()) === 'retired', 'the tombstone');
    expect(await v1Status()).toBe(410);
    expect((await run('docker compose rm --stop --force v1')).code).toBe(0);
    // Since the last 410, which is counted as use.
    await sleep(longerThanQuietMs);
    edit('');
    // The status also lists removed versions that were called recently.
    await waitUntil(async () => (await stageOfV1()) !== 'retired', 'the removal');
    expect(await v1Status()).toBe(404);
    removeV1(project.folder);
    await compose.config();
    // No `compose up` here: the mounts have changed, so it would replace the container of the gateway.
    expect((await fetch(`${url}/v2/cocktails/7`)).status).toBe(200);
    const removedAt = Date.now();
    await waitUntil(async () => current.responses.some(({ at }) => at > removedAt), 'a later response of v2');

    const responses = await current.stop();
    console.log(`v2 during the retirement: ${JSON.stringify(countByStatus(responses))}`);
    expect(Object.keys(countByStatus(responses))).toEqual(['200']);
  });
});

/** Removes the service and the mount of v1 from the Compose file, and its folder. Restores them at the end of the test. */
function removeV1(folder: string): void {
  const [file, sources] = [join(folder, 'docker-compose.yml'), join(folder, 'services', 'v1')];
  const text = readFileSync(file, 'utf8');
  onTestFinished(() => {
    writeFileSync(file, text);
    cpSync('services/v1', sources, { recursive: true, filter: (source) => !source.includes('node_modules') });
  });
  const document = parseDocument(text);
  document.deleteIn(['services', 'v1']);
  const { volumes } = document.toJS().services.gateway as { volumes: string[] };
  document.deleteIn(['services', 'gateway', 'volumes', volumes.findIndex((volume) => volume.includes('services/v1'))]);
  writeFileSync(file, document.toString());
  expect(readFileSync(file, 'utf8')).not.toMatch(/services\/v1|^ {2}v1:/m);
  rmSync(sources, { recursive: true, maxRetries: 10 });
}
