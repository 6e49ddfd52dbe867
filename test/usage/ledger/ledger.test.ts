import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import type { ClientCounts, UsageQueries } from '../../../gateway/usage/usageQueries.ts';
import type { UsageBatch } from '../../../gateway/usage/usageRow.ts';
import { readersOn } from '../../support/fleetLedger.ts';
import { coveredSince, readLedger } from '../../support/readLedger.ts';
import { addUp, dayMs, hourMs, noon, randomBatch, randomOf, row } from '../model.ts';
import { openLedger } from './ledgerFixture.ts';

/** Compares every query with the sums of the rows. `since` and `until` are full hours. */
async function expectSame(ledger: UsageQueries, rows: UsageBatch, since: number, until?: number): Promise<void> {
  const known = rows.filter(({ hour }) => hour >= since && hour < (until ?? Number.POSITIVE_INFINITY));
  const totals = addUp(known, ({ version }) => version);
  expect(new Map((await ledger.totals(since, until)).map(({ version, ...rest }) => [version, rest]))).toEqual(
    new Map([...totals].map(([version, { first: _first, routes: _routes, ...rest }]) => [version, rest])),
  );
  if (until !== undefined) return;
  for (const version of ['v0', 'v1', 'v2', 'v9']) {
    const mine = known.filter((one) => one.version === version);
    const clients = addUp(mine, ({ client }) => client);
    expect(
      new Map(
        (await ledger.byClient(version, since)).map(
          ({ client, name: _name, topRoutes: _top, lastUsed: _lastUsed, ...rest }) => [client, rest],
        ),
      ),
    ).toEqual(new Map([...clients].map(([client, { clients: _clients, ...rest }]) => [client, rest])));
    for (const { client, topRoutes } of await ledger.byClient(version, since)) {
      const its = addUp(
        mine.filter((one) => one.client === client),
        ({ route }) => route,
      );
      expect(topRoutes).toHaveLength(Math.min(5, its.size));
      for (const { route, ...use } of topRoutes) expect(its.get(route)).toMatchObject(use);
      const requests = [...its.values()].map((one) => one.requests).sort((a, b) => b - a);
      expect(topRoutes.map((one) => one.requests)).toEqual(requests.slice(0, 5));
    }
    const routes = addUp(mine, ({ route }) => route);
    // `hasEarlierUse`: in the generated rows, a request may be use although it failed.
    const byRoute = (await ledger.byRoute(version, since)).map(
      ({ route, hasEarlierUse: _hasEarlierUse, ...rest }) => [route, rest] as const,
    );
    expect(new Map(byRoute)).toEqual(
      new Map(
        [...routes].map(([route, { first: _first, served: _served, refused: _refused, routes: _routes, ...rest }]) => [
          route,
          rest,
        ]),
      ),
    );
  }
}

describe.each(readersOn)('the ledger on %s', (_database, makeReader) => {
  const read = makeReader();

  it.each([
    ['the last day', dayMs],
    ['three days', 3 * dayMs + 5 * hourMs],
    ['months', 75 * dayMs],
  ])('returns the exact counts of %s', async (_name, spanMs) => {
    const { ledger } = openLedger();
    const random = randomOf(spanMs);
    const rows = Array.from({ length: 8 }, () => randomBatch(random, 150, spanMs));
    for (const batch of rows) ledger.add(batch);
    const reader = read(ledger);
    for (let turn = 0; turn < 6; turn++) {
      const since = noon - Math.floor(random(spanMs) / hourMs) * hourMs;
      await expectSame(reader, rows.flat(), since);
      await expectSame(reader, rows.flat(), since, since + random(Math.floor(spanMs / hourMs)) * hourMs);
    }
    await expectSame(reader, rows.flat(), 0);
    expect(ledger.problem).toBeUndefined();
  });

  it('returns the same counts of whole days after the hours were deleted', async () => {
    const { ledger, clock } = openLedger();
    const rows = randomBatch(randomOf(5), 900, 20 * dayMs);
    ledger.add(rows);
    const [midnight, later] = [noon - (noon % dayMs), noon + 40 * dayMs];
    const days = [3, 11, 19].map((count) => midnight - count * dayMs);
    clock.time = later;
    ledger.maintain(later);
    const reader = read(ledger);
    for (const since of days) await expectSame(reader, rows, since);
    // From the middle of a day, the whole day counts.
    expect(await read(ledger).byClient('v1', (days[1] ?? 0) + 7 * hourMs)).toEqual(
      await read(ledger).byClient('v1', days[1] ?? 0),
    );
    for (const since of days) await expectSame(reader, rows, since, since + 5 * dayMs);
  });

  it('has no totals for an empty period', async () => {
    const { ledger } = openLedger();
    ledger.add([row()]);
    expect([
      await read(ledger).totals(noon, noon),
      await read(ledger).totals(noon, noon - dayMs),
      ledger.problem,
    ]).toEqual([[], [], undefined]);
  });

  it('sorts clients by requests', async () => {
    const { ledger } = openLedger();
    ledger.add([row({ client: 'a', requests: 2 }), row({ client: 'b', requests: 3 }), row({ client: 'c' })]);
    expect((await read(ledger).byClient('v1', 0)).map(({ client }) => client)).toEqual(['b', 'a', 'c']);
  });

  it('returns only the clients that are wanted, with their routes', async () => {
    const { ledger } = openLedger();
    ledger.add(Array.from({ length: 51 }, (_one, n) => row({ client: `c${n}`, requests: 200 - n })));
    const reader = read(ledger);
    const isLast = ({ client, lastUsed }: ClientCounts) => client === 'c50' && lastUsed === noon;
    expect(await reader.byClient('v1', 0, isLast)).toMatchObject([
      { client: 'c50', requests: 150, routes: 1, topRoutes: [{ requests: 150 }] },
    ]);
    expect(await reader.byClient('v1', 0, () => false)).toEqual([]);
  });

  it('lists the routes of the fifty clients with the most requests', async () => {
    const { ledger } = openLedger();
    ledger.add(Array.from({ length: 51 }, (_one, n) => row({ client: `c${n}`, requests: 200 - n })));
    const named = (await read(ledger).byClient('v1', 0)).map(({ topRoutes }) => topRoutes.length);
    expect(named).toEqual([...Array(50).fill(1), 0]);
  });

  it('has a series by hour and by day, oldest first', async () => {
    const { ledger } = openLedger();
    ledger.add([
      row({ requests: 4 }),
      row({ requests: 2, first: noon - hourMs }),
      row({ requests: 1, failing: 1, client: 'b', first: noon - hourMs }),
      row({ requests: 7, version: 'v2', first: noon - 3 * dayMs }),
    ]);
    const midnight = noon - (noon % dayMs);
    expect(await read(ledger).series('hour', noon - hourMs)).toEqual([
      { version: 'v1', at: noon - hourMs, requests: 3, failing: 1 },
      { version: 'v1', at: noon, requests: 4, failing: 0 },
    ]);
    expect(await read(ledger).series('day', noon - 3 * dayMs)).toEqual([
      { version: 'v2', at: midnight - 3 * dayMs, requests: 7, failing: 0 },
      { version: 'v1', at: midnight, requests: 7, failing: 1 },
    ]);
    expect(await read(ledger).series('day', 0, 'v2')).toEqual([
      { version: 'v2', at: midnight - 3 * dayMs, requests: 7, failing: 0 },
    ]);
    expect(await read(ledger).clientSeries('v1', ['x-client-id:shop', 'b', 'nobody'], 0)).toEqual([
      { version: 'v1', client: 'x-client-id:shop', at: midnight, requests: 6, failing: 0 },
      { version: 'v1', client: 'b', at: midnight, requests: 1, failing: 1 },
    ]);
    expect(await read(ledger).clientSeries('v1', ['nobody'], 0)).toEqual([]);
    expect(await read(ledger).clientSeries('v9', ['x-client-id:shop'], 0)).toEqual([]);
  });

  it('compares the requests of each client to two versions', async () => {
    const { ledger } = openLedger();
    ledger.add([
      row({ client: 'stays', requests: 9 }),
      row({ client: 'moves', requests: 5, first: noon - dayMs }),
      row({ client: 'moves', version: 'v2', requests: 3 }),
      row({ client: 'new', version: 'v2' }),
    ]);
    expect(await read(ledger).movement('v1', 'v2', 0)).toEqual([
      {
        client: 'stays',
        name: undefined,
        hasUsedOld: true,
        from: { requests: 9, failing: 0, last: noon },
        to: undefined,
      },
      {
        client: 'moves',
        name: undefined,
        hasUsedOld: true,
        from: { requests: 5, failing: 0, last: noon - dayMs },
        to: { requests: 3, failing: 0, first: noon, last: noon },
      },
      {
        client: 'new',
        name: undefined,
        hasUsedOld: false,
        from: undefined,
        to: { requests: 1, failing: 0, first: noon, last: noon },
      },
    ]);
    // Use of the old version before that time sets `hasUsedOld`.
    expect(await read(ledger).movement('v1', 'v2', noon)).toMatchObject([
      { client: 'stays' },
      { client: 'moves', hasUsedOld: true, from: undefined, to: { requests: 3 } },
      { client: 'new', hasUsedOld: false },
    ]);
    ledger.add([row({ client: 'other clients', requests: 99 }), row({ client: 'other clients', version: 'v2' })]);
    expect((await read(ledger).movement('v1', 'v2', 0)).map(({ client }) => client)).toEqual(['stays', 'moves', 'new']);
  });

  it('deletes rows and names older than the retention', async () => {
    const { ledger, store, clock } = openLedger({ retention: 100 * dayMs }, noon - 150 * dayMs);
    clock.time = noon;
    const old = row({ client: 'gone', route: 'GET /gone', version: 'v0', first: noon - 120 * dayMs });
    ledger.add([old, row({ first: noon - 90 * dayMs }), row({ client: 'stays', first: noon })]);
    expect(await coveredSince(read(ledger))).toBe(noon - 150 * dayMs);
    ledger.maintain(noon);
    const cutoff = noon - (noon % dayMs) - 100 * dayMs;
    expect(await coveredSince(read(ledger))).toBe(cutoff);
    expect(await read(ledger).totals(0)).toEqual([
      { version: 'v1', requests: 2, errors: 0, served: 2, failing: 0, refused: 0, clients: 2, last: noon },
    ]);
    expect(await read(ledger).byClient('v0', 0)).toEqual([]);
    expect(await read(ledger).clientSeries('v1', ['x-client-id:shop'], 0)).toHaveLength(1);
    // A longer retention does not bring back deleted rows.
    ledger.configure({ store, retention: 400 * dayMs });
    ledger.maintain(noon);
    expect(await coveredSince(read(ledger))).toBe(cutoff);
    ledger.add([{ ...old, first: noon, last: noon, hour: noon }]);
    expect(await read(ledger).byClient('v0', 0)).toMatchObject([{ client: 'gone', requests: 1 }]);
  });

  it('covers the time from when it was opened', async () => {
    const { ledger, clock } = openLedger();
    expect(await coveredSince(read(ledger))).toBe(noon);
    clock.time = noon + 5 * dayMs;
    ledger.add([row({ first: noon + dayMs })]);
    expect(await coveredSince(read(ledger))).toBe(noon);
  });

  it.each([
    ['a minute', 60_000, noon],
    ['an hour', 3_600_000, noon],
    ['longer than that', 3_600_001, noon + dayMs + 3_600_001],
  ])('covers a pause of %s only up to an hour', async (_name, pause, expected) => {
    const { ledger, store, clock } = openLedger();
    clock.time = noon + dayMs;
    ledger.add([row()]);
    ledger.close();
    expect(await coveredSince(read(openLedger({ store }, noon + dayMs + pause).ledger))).toBe(expected);
  });

  it('does not cover a pause that is long compared with the quiet period', async () => {
    const { ledger, store, clock } = openLedger();
    clock.time = noon + dayMs;
    ledger.add([row()]);
    ledger.close();
    const again = openLedger({ store }, noon + dayMs + 12_000).ledger;
    const quiets = [10_000, 60_000, 120_000, dayMs];
    const covered = await Array.fromAsync(quiets, (quiet) => coveredSince(read(again), quiet));
    expect(covered).toEqual([noon + dayMs + 12_000, noon + dayMs + 12_000, noon, noon]);
  });
});

describe('the ledger file', () => {
  it('survives a restart, with its salt', async () => {
    const { ledger, store } = openLedger();
    ledger.add([row()]);
    const { salt } = ledger;
    ledger.close();
    const { ledger: again } = openLedger({ store }, noon + dayMs);
    expect(again.salt).toBe(salt);
    again.add([row()]);
    expect(await readLedger(again).byClient('v1', 0)).toMatchObject([{ requests: 2 }]);
  });

  it('has the salt of usage.tag_key, also if the file is new', () => {
    const key = { tagKey: 'a key of this test' };
    const { ledger } = openLedger(key);
    expect(openLedger(key).ledger.salt).toBe(ledger.salt);
    expect(openLedger({ tagKey: 'another key of it' }).ledger.salt).not.toBe(ledger.salt);
    expect(ledger.salt).not.toContain(key.tagKey);
  });

  it('takes over a key that is introduced, says so once, and keeps its salt without the key', async () => {
    const { ledger, store } = openLedger();
    ledger.add([row()]);
    ledger.close();
    const key = { store, tagKey: 'a key of this test' };
    const { ledger: keyed, notices } = openLedger(key, noon + dayMs);
    expect(keyed.salt).toBe(openLedger({ tagKey: key.tagKey }).ledger.salt);
    expect(notices).toEqual([expect.stringMatching(/usage.tag_key replaces the salt of .*new client/)]);
    keyed.add([row()]);
    expect(await readLedger(keyed).byClient('v1', 0)).toMatchObject([{ requests: 2 }]);
    keyed.close();
    expect(openLedger(key, noon + 2 * dayMs).notices).toEqual([]);
    expect(openLedger({ store }, noon + 3 * dayMs).ledger.salt).toBe(keyed.salt);
  });

  it('is readable by its owner only', () => {
    const { ledger, store } = openLedger();
    ledger.add([row()]);
    for (const file of [store, `${store}-wal`, `${store}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(store)).isDirectory()).toBe(true);
    expect(openLedger().ledger.salt).not.toBe(ledger.salt);
  });
});

describe('a reader', () => {
  it('reads the rows that another process writes', async () => {
    const { ledger, store } = openLedger();
    const reader = LedgerReader.open(store);
    for (let turn = 1; turn <= 50; turn++) {
      ledger.add([row()]);
      expect(await reader.byClient('v1', 0)).toMatchObject([{ requests: turn }]);
    }
    ledger.maintain(noon);
    expect(ledger.problem).toBeUndefined();
    reader.close();
    expect(await reader.totals(0)).toEqual([]);
  });

  it('reads the file of a gateway that has stopped', async () => {
    const { ledger, store } = openLedger();
    ledger.add([row()]);
    ledger.close();
    const reader = LedgerReader.open(store);
    expect(await reader.totals(0)).toMatchObject([{ version: 'v1', requests: 1, clients: 1 }]);
    reader.close();
  });
});
