import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { RecentPaths } from '../../../gateway/proxy/trial/recentPaths.ts';
import { type TrialContext, tryNewTargets } from '../../../gateway/proxy/trial/trial.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { hostOf } from '../../support/hostOf.ts';
import { row } from '../../support/ledgerWith.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const upstream = 'http://127.0.0.1:1';

describe('a trial', () => {
  const context = (paths: readonly string[]): TrialContext => ({
    listeners: [],
    recentPaths: async (versions) => new Map(versions.map((version) => [version, paths])),
    notice: () => {},
  });
  const onV1 = (url: string, trial: string, more = {}) =>
    snapshotFrom({ routes: { '/v1': { upstream: url, ...more } }, guard: { trial } });

  it.each([
    ['off', '1s', ['orders/v1']],
    ['1s', 'off', ['v1']],
  ])('is made for each API by its own guard: %s at the root, %s below /orders', async (ofRoot, ofOrders, expected) => {
    const hostWith = (url: string) => hostOf(onV1(url, ofRoot), { '/orders': onV1(url, ofOrders) });
    const [before, after] = [hostWith('http://127.0.0.1:2'), hostWith('http://127.0.0.1:1')];
    const { refusals } = await tryNewTargets({ before, after, now, isForced: () => false }, context([]));
    expect(refusals.map(({ version }) => version)).toEqual(expected);
  });

  it('asks for the paths that clients would get: a forwarded prefix has no base', async () => {
    const asked: string[] = [];
    const backend = await startBackend(({ target }) => {
      asked.push(target);
      return answer(target.startsWith('/v1/') ? 200 : 404, '');
    });
    const hostWith = (url: string) =>
      hostOf(onV1(upstream, 'off'), { '/orders': onV1(url, '1s', { prefix: 'forward' }) });
    const edit = { before: hostWith(upstream), after: hostWith(backend.url), now, isForced: () => false };
    expect((await tryNewTargets(edit, context(['/a']))).refusals).toEqual([]);
    expect(asked).toContain('/v1/a');
  });
});

it('the paths of every version of a large host are remembered', () => {
  const paths = new RecentPaths();
  const versions = Array.from({ length: 250 }, (_, at) => `team${at % 50}/v${1 + Math.floor(at / 50)}`);
  const batch = versions.map((name) => row(name, 'a', now, { route: 'GET /drinks/{id}', example: '/drinks/7' }));
  paths.note(batch, now);
  expect(versions.filter((name) => paths.of(name, now).length === 0)).toEqual([]);
});
