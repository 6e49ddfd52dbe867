import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseDocument } from 'yaml';
import { followRetirePage } from '../support/walkThrough.ts';
import { keepAsking, stats } from './support/load.ts';
import { runAsWritten } from './support/page.ts';
import { answered, skipped, until, useStack } from './support/stack.ts';

// What takes days in earnest.
const hurry = 'guard: { quiet: 2s, notice: 1s }\nretire: { quiet: 8s }\n';
const v2 = '  /v2: { upstream: "http://v2:3002", prefix: forward }\n';
// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of routes.yaml
const rest = 'gateway: { admin_token: "${ADMIN_TOKEN}" }\nusage: { store: ../.version-gateway/usage.db }\n';

describe.skipIf(skipped)('docs/retire-a-version.md', () => {
  const { site, url, routes } = useStack();

  it('works as written with containers', { timeout: 240_000 }, () =>
    followRetirePage('docs/retire-a-version.md', {
      routes,
      url,
      run: (command) =>
        runAsWritten(command.replace('npx version-gateway', 'docker compose exec gateway version-gateway'), site),
    }),
  );
});

describe.skipIf(skipped)('a retirement without a rehearsal', () => {
  const { compose, site, url, admin, token, routes } = useStack();
  const edit = (v1: string): void => {
    const text = `routes:\n${v1 === '' ? '' : `  /v1: { upstream: "http://v1:3001", moved: { "/drinks/{id}": "/cocktails/{id}" }, ${v1} }\n`}${v2}${hurry}${rest}`;
    writeFileSync(`${routes}.new`, text);
    renameSync(`${routes}.new`, routes);
  };

  const run = (command: string) => runAsWritten(command, site);
  const v1Status = async () => (await fetch(`${url}/v1/drinks/7`, { redirect: 'manual' })).status;
  // To ask /v1 itself would count as a client of it, and keep it from being retired.
  const stageOfV1 = async () => {
    const response = await fetch(`${admin}/api/status`, { headers: { authorization: `Bearer ${token}` } });
    const { versions } = (await response.json()) as { versions: { version: string; stage: string }[] };
    return versions.find(({ version }) => version === 'v1')?.stage;
  };
  const headersOfV1 = async () => (await fetch(`${url}/v1/drinks/7`)).headers;

  it('leads from deprecation to removal, and v2 loses not one request', async () => {
    // Another file than the shipped one, which has promised its clients other dates: so it counts from a start on.
    edit('prefix: strip');
    await compose.upOne('gateway', '--force-recreate');
    await answered(`${url}/v1/drinks/7`);
    await answered(`${url}/v2/cocktails/7`);
    const current = keepAsking(`${url}/v2/cocktails/7`, 'moved-already', 2);
    edit('deprecation: 2026-06-30');
    await until(async () => (await headersOfV1()).has('deprecation'), 'Deprecation', 30_000);
    expect((await run('curl --head http://127.0.0.1:8080/v1/drinks/7')).stdout).toMatch(/deprecation: @1782777600/i);

    const straggler = keepAsking(`${url}/v1/drinks/7`, 'straggler', 1);
    const sunset = Date.now() + 30_000;
    const dates = `deprecation: 2026-06-30, sunset: "${new Date(sunset).toISOString()}"`;
    edit(dates);
    await until(async () => (await headersOfV1()).has('sunset'), 'Sunset', 30_000);
    const asked = 'docker compose exec gateway version-gateway can-retire /v1';
    await until(async () => (await run(asked)).stdout.includes('straggler'), 'the ledger to name them', 30_000);
    const early = await run(asked);
    expect([early.code, early.stdout]).toEqual([1, expect.stringMatching(/not yet/i)]);
    expect((await run('docker compose exec gateway version-gateway usage /v1')).stdout).toContain('straggler');

    expect(Object.keys(stats(await straggler.stop()))).toEqual(['200']);
    await sleep(Math.max(0, sunset - Date.now()));
    await until(async () => (await run(asked)).code === 0, 'can-retire to say yes', 30_000);

    edit(`retired: true, ${dates}`);
    await until(async () => (await stageOfV1()) === 'retired', 'the tombstone', 30_000);
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
    await until(async () => (await v1Status()) === 200, 'v1 to be back', 30_000);

    await sleep(2_500);
    edit(`retired: true, ${dates}`);
    await until(async () => (await stageOfV1()) === 'retired', 'the tombstone', 30_000);
    expect(await v1Status()).toBe(410);
    expect((await run('docker compose rm --stop --force v1')).code).toBe(0);
    // Longer than guard.quiet since the last 410.
    await sleep(2_500);
    edit('');
    // The status goes on listing a removed version that somebody called lately.
    await until(async () => (await stageOfV1()) !== 'retired', 'the removal', 30_000);
    expect(await v1Status()).toBe(404);
    removeV1(site.folder);
    await compose.config();
    // No `up` here: without the mount the gateway is another one, which would be put in the place of this one.
    expect((await fetch(`${url}/v2/cocktails/7`)).status).toBe(200);
    await sleep(1_000);

    const answers = await current.stop();
    console.log(`v2 all along: ${JSON.stringify(stats(answers))}`);
    expect(Object.keys(stats(answers))).toEqual(['200']);
  });
});

/** Its service and its mount from the Compose file, and its folder; back again for the other tests. */
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
  document.deleteIn(['services', 'gateway', 'volumes', volumes.findIndex((one) => one.includes('services/v1'))]);
  writeFileSync(file, document.toString());
  expect(readFileSync(file, 'utf8')).not.toMatch(/services\/v1|^ {2}v1:/m);
  rmSync(sources, { recursive: true, maxRetries: 10 });
}
