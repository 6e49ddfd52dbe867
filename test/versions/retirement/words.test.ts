import { describe, expect, it } from 'vitest';
import { inWholeUnits } from '../../../gateway/shared/text.ts';
import { migrationState } from '../../../gateway/usage/report/usagePage.ts';
import type { ClientUse } from '../../../gateway/usage/usageQueries.ts';
import { callersOf, countedCallers, ignoredBy } from '../../../gateway/versions/retirement/countedUsage.ts';
import { clientsInWords, shareInWords } from '../../../gateway/versions/retirement/words.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const hour = 3_600_000;

function client(client: string, requests: number, name?: string): ClientUse {
  const times = { first: 0, last: now - 3 * hour, lastUsed: now - 3 * hour };
  return {
    client,
    name,
    requests,
    errors: 0,
    served: requests,
    failing: 0,
    refused: 0,
    ...times,
    routes: 1,
    topRoutes: [],
  };
}

describe('clients in words', () => {
  const asked: unknown[][] = [];
  const queries = (...clients: ClientUse[]) => ({
    byClient: async (...args: unknown[]) => {
      asked.push(args);
      return clients;
    },
    beginOfClientCounts: async (since: number) => Math.floor(since / hour) * hour,
  });

  const using = async (found: ReturnType<typeof queries>, since: number, ignored: readonly string[] = []) =>
    countedCallers(await callersOf('v1', found, since, ignored), false);

  it('are those since the instant', async () => {
    const words = clientsInWords(
      await using(queries(client('x', 1204, 'ios-app'), client('user-agent:curl', 1)), 7),
      now,
    );
    expect(words).toBe(
      'clients: ios-app (last call 3 h ago, 1,204 requests), user-agent:curl (last call 3 h ago, 1 request)',
    );
    expect(asked.at(-1)).toEqual(['v1', 7]);
  });

  it('include clients whose earlier request continues', async () => {
    expect(clientsInWords(await using(queries(client('x', 0)), 0), now)).toBe(
      'clients: x (last call 3 h ago, no new request)',
    );
  });

  it('are undefined without requests', async () =>
    expect(clientsInWords(await using(queries(), 0), now)).toBeUndefined());

  it('leave out clients that only failed, unless the version is retired', async () => {
    const failing = queries({ ...client('scanner', 2), failing: 2, lastUsed: undefined });
    expect(await using(failing, 1)).toEqual([]);
    expect(countedCallers(await callersOf('v1', failing, 1, []), true)).toMatchObject([{ client: 'scanner' }]);
  });

  it('include a client that waits for an answer, and whose other requests failed', async () => {
    const since = now - 2 * hour;
    const [lastHour, before] = [since - 1, since - hour];
    const counts = (lastUsed: number) => ({ ...client('shop', 3), last: now, lastUsed, failing: 1, refused: 1 });
    expect(await using(queries(counts(before)), since)).toMatchObject([{ client: 'shop' }]);
    expect(await using(queries({ ...counts(before), requests: 2 }), since)).toEqual([]);
    // Counts are per hour, so the third request may be the one that was answered before the period.
    const inTheHour = since + hour / 2;
    expect(await using(queries({ ...counts(lastHour + hour / 2) }), inTheHour)).toEqual([]);
    const { users } = await callersOf('v1', queries(counts(lastHour + hour / 2)), inTheHour, [], { mayBeOpen: true });
    expect(users).toMatchObject([{ client: 'shop' }]);
  });

  it('leave out ignored clients', async () => {
    expect(clientsInWords(await using(queries(client('user-agent:probe', 1)), 0, ['probe']), now)).toBeUndefined();
  });
});

it.each([
  ['user-agent:probe', undefined, true],
  ['x-client-id:team:probe', undefined, false],
  ['user-agent:probes', undefined, false],
  ['user-agent:other', 'probe', true],
  ['probe', undefined, true],
])('%s, called %s, is ignored by its name: %s', (client, name, expected) => {
  expect(ignoredBy(['probe'])({ client, name })).toBe(expected);
});

it('is ignored by its name in the ledger', () => {
  expect(ignoredBy(['user-agent:probe'])({ client: 'user-agent:probe', name: undefined })).toBe(true);
  expect(ignoredBy(['user-agent:probe'])({ client: 'x-client-id:probe', name: undefined })).toBe(false);
});

describe('the movement of a client', () => {
  const from = (last: number) => ({ requests: 1, failing: 0, last });
  const to = (last: number) => ({ requests: 1, failing: 0, first: 0, last });

  it.each([
    ['stayed', { from: from(5), to: undefined }],
    ['moved', { from: undefined, to: to(5), hasUsedOld: true }],
    ['successor only', { from: undefined, to: to(5), hasUsedOld: false }],
    ['both', { from: from(5), to: to(9) }],
    ['both', { from: from(9), to: to(9) }],
    ['both', { from: from(hour), to: to(1) }],
    ['went back', { from: from(hour + 1), to: to(1) }],
    ['failing', { from: { ...from(5), failing: 1 }, to: undefined }],
    ['failing', { from: { ...from(5), failing: 1 }, to: { ...to(9), failing: 1 } }],
    ['failing', { from: undefined, to: { ...to(9), failing: 1 }, hasUsedOld: false }],
    ['stayed', { from: from(5), to: { ...to(9), failing: 1 } }],
    ['moved', { from: { ...from(5), failing: 1 }, to: to(9) }],
    ['both', { from: { requests: 9, failing: 8, last: 5 }, to: to(9) }],
  ])('%s: %o', (state, movement) => {
    expect(migrationState({ hasUsedOld: true, ...movement })).toBe(state);
  });
});

it.each([
  [0, '0%'],
  [0.00001, 'less than 0.01%'],
  [0.001, '0.1%'],
  [0.0234, '2.3%'],
  [0.1234, '12.3%'],
  [1, '100%'],
])('a share of %d is %s', (share, expected) => expect(shareInWords(share)).toBe(expected));

it.each([
  [7 * 24 * hour, '7 days'],
  [24 * hour, '1 day'],
  [36 * hour, '36 h'],
  [90 * 60_000, '90 min'],
  [500, '500 ms'],
])('%d ms are %s', (ms, expected) => expect(inWholeUnits(ms)).toBe(expected));
