import { copyFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { startWorkers } from './startWorkers.ts';

/** A build of its own without the files whose paths match `removed`. */
function buildWithout(removed: RegExp): string {
  const build = dirname(dirname(gatewayMain));
  const folder = mkdtempSync(`${build}-`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const isKept = (path: string): boolean => !removed.test(path);
  cpSync(join(build, 'dist'), join(folder, 'dist'), { recursive: true, filter: isKept });
  copyFileSync(join(build, 'package.json'), join(folder, 'package.json'));
  return join(folder, 'dist/main.js');
}

it.each([1, 2])(
  'a gateway that cannot read its ledger serves, and decides nothing by it (%i processes)',
  async (count) => {
    const { url } = await startBackend(() => okAnswer);
    const at = Math.ceil(Date.now() / 1000 + 5) * 1000;
    const v1 = {
      upstream: url,
      deprecation: '2026-01-01',
      freeze: { from: '2026-02-01', mode: 'refuse' },
      brownouts: [{ at: new Date(at).toISOString(), for: '15m' }],
    };
    const routes = { '/v1': v1, '/v2': url };
    const settings = { gateway: { self_service: 'on' }, usage: { identify: ['header:x-api-key'] } };
    const gateway = await startWorkers(count, routes, settings, {
      main: buildWithout(/admin\/reading\/worker\.js$/),
    });
    const ask = async (path: string): Promise<[number, string]> => {
      const response = await fetch(`http://127.0.0.1:${gateway.port}${path}`, { headers: { 'x-api-key': 'one' } });
      return [response.status, await response.text()];
    };
    expect(await ask('/v1/x')).toEqual([200, 'ok']);
    const [status, problem] = await ask('/versions/me');
    expect([status, JSON.parse(problem)]).toMatchObject([503, { code: 'LEDGER_UNANSWERED' }]);
    await gateway.printed(
      /the freeze of \/v1 is inactive and refuses nobody: The thread that reads the usage ledger ended/,
    );
    await gateway.printed(/\/v1: the brownout of \S+ is skipped: the usage ledger cannot be read/);
    // An edit that ends no version is applied.
    gateway.edit({
      '/v1': v1,
      '/v2': { upstream: (await startBackend(() => okAnswer)).url, limits: { in_flight: 9 } },
    });
    await gateway.printed(/reload \(file\): \/v2: .*target \S+ added/);
    gateway.edit({ '/v1': { ...v1, limits: { body: '1KiB' } } });
    const response = await fetch(`${gateway.admin}/api/reload`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    const { kind, refusals } = (await response.json()) as { kind: string; refusals: { message: string }[] };
    expect([response.status, kind, refusals.map(({ message }) => message)]).toEqual([
      409,
      'refused',
      expect.arrayContaining([
        expect.stringMatching(/^\/v2 is removed, but calls .* may be missing\. The usage ledger has a problem/),
        expect.stringMatching(/^\/v1 may refuse requests that it serves now, .* The usage ledger has a problem/),
      ]),
    ]);
    expect(await ask('/v1/x')).toEqual([200, 'ok']);
  },
);

it('a worker that lacks files for an edit is reported, and applies the next edit', async () => {
  const { url } = await startBackend(() => okAnswer);
  const until = new Date(Date.now() + 86_400_000).toISOString();
  const gateway = await startWorkers(2, { '/v1': url, '/v2': url }, {}, { main: buildWithout(/\/sampler-[^/]*\.js$/) });
  gateway.edit({ '/v1': { upstream: url, shadow: { to: '/v2', until } }, '/v2': url });
  await gateway.printed(/worker \d+ has not confirmed it: Cannot find module '.*sampler/);
  gateway.edit({ '/v1': { upstream: url, deprecation: '2026-01-01' }, '/v2': url });
  await gateway.printed(/reload \(file\): \/v1: active → deprecated/);
  const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/x`);
  expect([response.status, response.headers.get('deprecation')]).toEqual([200, '@1767225600']);
});
