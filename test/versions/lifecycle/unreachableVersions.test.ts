import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import type { TargetReport } from '../../../gateway/usage/observability/report.ts';
import { unreachableVersions } from '../../../gateway/versions/lifecycle/unreachableVersions.ts';
import { servedSnapshot } from '../../contracts/adapters/servedVersion.ts';
import { startEditable, startService } from '../../process/runtime/editableGateway.ts';
import { eventually } from '../../support/eventually.ts';
import { freeUrl, refusedUrl } from '../../support/gateway.ts';

/** Checks the status while the backend of a version is stopped, and after it was started again. */
async function loseBackend(
  routes: (gone: string) => Readonly<Record<string, unknown>>,
  expected: object,
  said: string,
) {
  const gone = await freeUrl();
  const { status, notices, url } = await startEditable(routes(gone));
  expect(await status()).toMatchObject({
    unreachable: false,
    stopped_before_retired: false,
    targets: [{ health: 'not tried', failing_since: null }],
  });
  expect((await fetch(`${url}/v1/x`)).status).toBe(502);
  expect(await status()).toMatchObject({
    unreachable: true,
    targets: [{ health: 'failing', reachable: false }],
    ...expected,
  });
  await eventually(() => expect(notices).toEqual([said]));
  const server = createServer((_req, res) => res.end('ok')).listen(Number(new URL(gone).port), '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  expect((await fetch(`${url}/v1/x`)).status).toBe(200);
  const healthy = { unreachable: false, stopped_before_retired: false, targets: [{ health: 'healthy' }] };
  expect(await status()).toMatchObject(healthy);
}

const deprecated = { deprecation: '2026-01-01' };

it('a deprecated version whose targets are all gone is reported as stopped before it was retired', async () => {
  const { url } = await startService();
  const said = '/v1 was stopped before it was retired: no target of /v1 can be reached';
  await loseBackend(
    (gone) => ({ '/v1': { upstream: gone, ...deprecated }, '/v2': url }),
    { stopped_before_retired: true },
    said,
  );
});

it.each<[string, (gone: string) => Readonly<Record<string, unknown>>]>([
  ['is active', (gone) => ({ '/v1': gone, '/v2': 'http://127.0.0.1:1' })],
  ['has no successor', (gone) => ({ '/v1': { upstream: gone, ...deprecated } })],
  ['has a retired successor', (gone) => ({ '/v1': { upstream: gone, ...deprecated }, '/v2': { retired: true } })],
])('a version that %s is only reported as unreachable', (_what, routes) =>
  loseBackend(routes, { stopped_before_retired: false }, 'no target of /v1 can be reached'),
);

it('a version is not reported as stopped while its successor cannot be reached either', async () => {
  const [one, two] = [await refusedUrl(), await refusedUrl()];
  const { status, url } = await startEditable({ '/v1': { upstream: one, ...deprecated }, '/v2': two });
  for (const path of ['v1', 'v2']) expect((await fetch(`${url}/${path}/x`)).status).toBe(502);
  expect(await status()).toMatchObject({ unreachable: true, stopped_before_retired: false });
  expect(await status(1)).toMatchObject({ unreachable: true, stopped_before_retired: false });
});

it.each([
  ['serve', []],
  ['shadow', ['v1']],
])('with adapter.mode %s, the versions %j are reported while the backend of v1 is stopped', (mode, expected) => {
  const snapshot = servedSnapshot('http://127.0.0.1:1', { adapter: { mode } });
  const targets = [{ reachable: false } as TargetReport];
  const versions = [{ name: 'v1', inFlight: 0, waiting: 0, lastInFlight: undefined, targets }];
  const found = unreachableVersions(snapshot, { versions }, Date.now());
  expect(found.map(({ version }) => version)).toEqual(expected);
});

it('a retired version whose backend serves another version through an adapter is reported', async () => {
  const source = { deprecation: '2026-01-01', sunset: '2026-02-01', after_sunset: 'gone' };
  const notices: string[] = [];
  const running = await startGateway(servedSnapshot(await refusedUrl(), { source }), {
    notice: (line) => notices.push(line),
  });
  onTestFinished(() => running.close());
  expect((await fetch(`http://127.0.0.1:${running.port}/v1/drinks/7`)).status).toBe(502);
  await eventually(() => expect(notices).toContain('no target of /v2 can be reached'));
});
