import { describe, expect, it } from 'vitest';
import { answerSettingsOf } from '../../../gateway/config/answerSettings.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { RouteSizes, UsageQueries } from '../../../gateway/usage/usageQueries.ts';
import { otherRoute, type UsageBatch } from '../../../gateway/usage/usageRow.ts';
import { readersOn } from '../../support/fleetLedger.ts';
import { readLedger } from '../../support/readLedger.ts';
import { dayMs, noon, randomBatch, randomOf, row } from '../model.ts';
import { openLedger } from './ledgerFixture.ts';

const dayOf = (at: number): number => at - (at % dayMs);

/** Random rows, of which some have no answered request. */
function randomSizes(seed: number, count: number, spanMs: number): UsageBatch {
  const random = randomOf(seed);
  return randomBatch(random, count, spanMs).map((one) => {
    const target = random(4) === 0 ? 0 : 1 + random(200);
    return { ...one, body: target && random(9000), target, head: target && target + random(900) };
  });
}

/** `day route body target head`, sorted. */
const sorted = (sizes: readonly RouteSizes[]): string[] =>
  sizes.map(({ at, route, body, target, head }) => [at, route, body, target, head].join(' ')).sort();

/** The largest sizes of each route and day, from the rows themselves. */
function largestIn(rows: UsageBatch, routeOf: (route: string, day: number) => string = (route) => route): string[] {
  const answered = rows.filter(({ target }) => target > 0);
  const groups = Map.groupBy(answered, ({ route, hour }) => `${dayOf(hour)} ${routeOf(route, dayOf(hour))}`);
  return [...groups]
    .map(([key, group]) => {
      const largest = (part: 'body' | 'target' | 'head') => Math.max(...group.map((one) => one[part]));
      return [key, largest('body'), largest('target'), largest('head')].join(' ');
    })
    .sort();
}

describe.each(readersOn)('the sizes of requests on %s', (_database, makeReader) => {
  const read = makeReader();

  it('are the exact maxima of each route and day', async () => {
    const { ledger } = openLedger();
    const rows = randomSizes(21, 600, 12 * dayMs);
    for (let at = 0; at < rows.length; at += 100) ledger.add(rows.slice(at, at + 100));
    const reader = read(ledger);
    for (const since of [0, noon - 5 * dayMs]) {
      const expected = rows.filter(({ version, hour }) => version === 'v1' && dayOf(hour) >= dayOf(since));
      expect(sorted(await reader.sizes('v1', since))).toEqual(largestIn(expected));
    }
    expect([await reader.sizes('v99', 0), await reader.sizesSince(), reader.problem]).toEqual([[], 0, undefined]);
  });

  it('come with the settings under which the ledger counts, which change with a reload', async () => {
    const { ledger } = openLedger();
    const settings: (UsageQueries['answerSettings'] extends () => Promise<infer Value> ? Value : never)[] = [];
    settings.push(await read(ledger).answerSettings());
    for (const [basePath, body] of [
      ['/', '1MiB'],
      ['/api', 17],
    ]) {
      const snapshot = snapshotFrom({
        gateway: { base_path: basePath },
        routes: { '/v1': { upstream: 'http://127.0.0.1:1', limits: { body } } },
      });
      ledger.configure({ ...ledger.settings, answers: answerSettingsOf(snapshot) });
      ledger.add([]);
      settings.push(await read(ledger).answerSettings());
    }
    const limits = { url: 8192, head: 16_384 };
    expect(settings).toEqual([
      undefined,
      { basePath: '', ...limits, bodies: { v1: 1_048_576 } },
      { basePath: '/api', ...limits, bodies: { v1: 17 } },
    ]);
  });
});

it('of routes that are folded become those of `other`', async () => {
  const { ledger } = openLedger({ maxRoutes: 2 });
  const rows = randomSizes(5, 300, dayMs / 2).map((one) => ({ ...one, version: 'v1' }));
  ledger.add(rows);
  ledger.maintain(noon);
  const reader = readLedger(ledger);
  const kept = (await reader.routes('v1', 0)).map(({ route }) => route);
  expect([kept.length, kept.includes(otherRoute)]).toEqual([3, true]);
  expect(sorted(await reader.sizes('v1', 0))).toEqual(
    largestIn(rows, (route) => (kept.includes(route) ? route : otherRoute)),
  );
});

it('are deleted with the retention, and are of today if the clock was ahead', async () => {
  const retention = 30 * dayMs;
  const { ledger: ahead, store } = openLedger({ retention }, noon + 50 * dayMs);
  const sizes = { body: 9, target: 20, head: 300 };
  ahead.add([
    row({ first: noon - 3 * dayMs, ...sizes }),
    row({ first: noon, ...sizes, body: 4 }),
    row({ first: noon + 40 * dayMs, ...sizes, target: 50 }),
  ]);
  ahead.close();
  const { ledger, clock } = openLedger({ store, retention }, noon + dayMs);
  const days = async () => (await readLedger(ledger).sizes('v1', 0)).map(({ at, body, target }) => [at, body, target]);
  expect(await days()).toEqual([
    [dayOf(noon - 3 * dayMs), 9, 20],
    [dayOf(noon), 4, 20],
    [dayOf(noon + dayMs), 9, 50],
  ]);
  clock.time = noon + 29 * dayMs;
  ledger.maintain(clock.time);
  expect(await days()).toEqual([
    [dayOf(noon), 4, 20],
    [dayOf(noon + dayMs), 9, 50],
  ]);
});
