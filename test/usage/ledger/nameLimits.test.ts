import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { isSingleClient, type UsageBatch, type UsageRow } from '../../../gateway/usage/usageRow.ts';
import { readLedger } from '../../support/readLedger.ts';
import { addUp, dayMs, hourMs, noon, randomOf, row, total } from '../model.ts';
import { openLedger } from './ledgerFixture.ts';

const limits = { maxClients: 20, maxRoutes: 8 };

/** Ten regular clients on every day, and many with one request or an open request of an earlier hour. */
function floodOf(random: (below: number) => number, days: number, newcomers: number): UsageRow[] {
  return Array.from({ length: days * newcomers * 2 }, (_one, n) => {
    const first = noon - random(days * 24) * hourMs;
    const isRegular = n % 2 === 0;
    // Some only continue an earlier request.
    const requests = random(4) === 0 ? 0 : isRegular ? 20 + random(10) : 1;
    return row({
      version: `v${random(2)}`,
      client: isRegular ? `regular-${random(10)}` : `flood-${n}`,
      route: isRegular ? `GET /r${random(4)}` : `GET /scan${n}`,
      first,
      last: first + random(1_000),
      requests,
      errors: random(2),
      served: random(2),
      failing: random(requests + 1),
      refused: random(2),
    });
  });
}

function problemsOf(store: string): unknown[] {
  const database = new DatabaseSync(store, { readOnly: true });
  try {
    const days = ['client', 'route'].flatMap((subject) =>
      database
        .prepare(
          `SELECT '${subject}' AS subject, block.item FROM ${subject}_block AS block LEFT JOIN (
            SELECT version, span / 30 AS span, item, SUM(requests) AS requests, SUM(errors) AS errors,
              SUM(served) AS served, SUM(failing) AS failing, SUM(refused) AS refused,
              MIN(span % 30 * ${dayMs} + first) AS first, MAX(span % 30 * ${dayMs} + last) AS last
            FROM ${subject}_day GROUP BY 1, 2, 3) AS days USING (version, span, item)
          WHERE days.requests IS NOT block.requests OR days.errors IS NOT block.errors
            OR days.served IS NOT block.served OR days.failing IS NOT block.failing OR days.refused IS NOT block.refused OR days.first IS NOT block.first OR days.last IS NOT block.last`,
        )
        .all(),
    );
    const pairs = ['client', 'route'].flatMap((subject) =>
      ['hour', 'day'].flatMap((length) =>
        database
          .prepare(
            `SELECT '${subject}' AS subject, one.item FROM ${subject}_${length} AS one LEFT JOIN (
              SELECT version, span, ${subject} AS item, SUM(requests) AS requests, SUM(errors) AS errors,
                SUM(served) AS served, SUM(failing) AS failing, SUM(refused) AS refused,
                MIN(first) AS first, MAX(last) AS last
              FROM pair_${length} GROUP BY 1, 2, 3) AS pairs USING (version, span, item)
            WHERE pairs.requests IS NOT one.requests OR pairs.errors IS NOT one.errors
              OR pairs.served IS NOT one.served OR pairs.failing IS NOT one.failing OR pairs.refused IS NOT one.refused
              OR pairs.first IS NOT one.first OR pairs.last IS NOT one.last`,
          )
          .all(),
      ),
    );
    const names = ['client', 'route'].flatMap((subject) =>
      database.prepare(`SELECT name FROM ${subject}s WHERE id NOT IN (SELECT item FROM ${subject}_block)`).all(),
    );
    return [...days, ...pairs, ...names];
  } finally {
    database.close();
  }
}

function namesADay(store: string, subject: 'client' | 'route'): number[] {
  const database = new DatabaseSync(store, { readOnly: true });
  const rows = database.prepare(`SELECT COUNT(*) AS names FROM ${subject}_day GROUP BY version, span`).all();
  database.close();
  return rows.map(({ names }) => Number(names));
}

describe('names above the limit', () => {
  it('are those with the fewest requests, and of these the earliest, also of the day before', () => {
    const { ledger, store } = openLedger({ maxClients: 2, maxRoutes: 2 }, noon + dayMs);
    const lastHourOf = (day: number): number => day - (day % dayMs) + dayMs - hourMs;
    const days = [noon - dayMs, noon].map(lastHourOf);
    // Within the leeway of `add`.
    for (const day of days)
      ledger.add(
        ['a', 'b', 'c', 'd'].map((client, n) =>
          row({ client, route: `GET /${client}`, first: day + n, last: day + n, requests: client === 'a' ? 9 : 5 }),
        ),
      );
    ledger.maintain(noon);
    const database = new DatabaseSync(store, { readOnly: true });
    const counts = (length: 'hour' | 'day') =>
      database
        .prepare(
          `SELECT span, name, requests FROM client_${length} JOIN clients ON clients.id = item ORDER BY span, name`,
        )
        .all();
    const left = (span: number) => [
      { span, name: 'a', requests: 9 },
      { span, name: 'd', requests: 5 },
      { span, name: 'other clients', requests: 10 },
    ];
    expect(counts('day')).toEqual(days.flatMap((day) => left(Math.floor(day / dayMs))));
    expect(counts('hour')).toEqual(days.flatMap((day) => left(day / hourMs)));
    database.close();
    // Those of clients. Routes that are added up move no request to another client.
    expect(ledger.movedRequests).toBe(20);
  });

  it.each([
    ['one day', 1, 400],
    ['days of two blocks', 25, 60],
  ])('are folded, and every sum stays the same: %s', async (_name, days, newcomers) => {
    const { ledger, store } = openLedger(limits);
    const rows = floodOf(randomOf(days), days, newcomers);
    // In batches, like those of several processes.
    for (let at = 0; at < rows.length; at += 150) ledger.add(rows.slice(at, at + 150));
    expect(ledger.problem).toBeUndefined();
    expect(Math.max(...namesADay(store, 'client'))).toBeLessThanOrEqual(20 * 1.25 + 1);
    expect(Math.max(...namesADay(store, 'route'))).toBeLessThanOrEqual(8 * 1.25 + 1);
    expect(problemsOf(store)).toEqual([]);
    await expectSums(ledger, rows);
    ledger.maintain(noon);
    expect(problemsOf(store)).toEqual([]);
    await expectSums(ledger, rows);
  });

  it('are folded exactly to the limit by the maintenance', async () => {
    const { ledger, store } = openLedger(limits);
    ledger.add(Array.from({ length: 23 }, (_one, n) => row({ client: `c${n}`, requests: n + 1 })));
    expect(namesADay(store, 'client')).toEqual([23]);
    ledger.maintain(noon);
    expect(namesADay(store, 'client')).toEqual([21]);
    expect(
      (await readLedger(ledger).byClient('v1', 0)).map(({ client, requests }) => [client, requests]),
    ).toContainEqual(['other clients', 1 + 2 + 3]);
    // `other clients` does not count as a client.
    expect(await readLedger(ledger).totals(0)).toMatchObject([{ clients: 20 }]);
    expect(await readLedger(ledger).byRoute('v1', 0)).toMatchObject([{ clients: 20 }]);
    // A folded name that returns starts at 0.
    ledger.add([row({ client: 'c0', requests: 50 })]);
    expect((await readLedger(ledger).byClient('v1', 0))[0]).toMatchObject({ client: 'c0', requests: 50 });
  });

  it('keep regular clients, and earlier days of folded clients', async () => {
    const { ledger } = openLedger(limits);
    ledger.add([row({ client: 'earlier', first: noon - 3 * dayMs, requests: 4 }), row({ client: 'earlier' })]);
    for (let turn = 0; turn < 30; turn++) {
      const flood = Array.from({ length: 10 }, (_one, n) => row({ client: `flood-${turn}-${n}`, requests: 2 }));
      ledger.add([...flood, row({ client: 'newcomer', first: noon + turn })]);
    }
    const uses = new Map((await readLedger(ledger).byClient('v1', 0)).map((use) => [use.client, use]));
    expect(uses.get('newcomer')?.requests).toBeGreaterThan(20);
    expect(uses.get('earlier')).toMatchObject({ requests: 4, last: noon - 3 * dayMs });
    expect((await readLedger(ledger).byClient('v1', noon)).map(({ client }) => client)).not.toContain('earlier');
    expect(await readLedger(ledger).totals(noon)).toMatchObject([{ requests: 1 + 300 * 2 + 30 }]);
  });

  it('keep when a backend accepted a client that is folded on one of its days', () => {
    const { ledger, store } = openLedger(limits);
    const before = noon - 3 * dayMs;
    ledger.add([row({ client: 'earlier', first: before }), row({ client: 'earlier' }), row({ client: 'gone' })]);
    ledger.add(Array.from({ length: 40 }, (_one, n) => row({ client: `c${n}`, requests: 2 })));
    const database = new DatabaseSync(store, { readOnly: true });
    const accepted = database.prepare(
      'SELECT name, accepted FROM version_client JOIN clients ON id = client WHERE name IN (?, ?, ?) ORDER BY name',
    );
    // The exact time of the last one before the folded day is not read.
    expect(accepted.all('earlier', 'gone', 'other clients')).toEqual([
      { name: 'earlier', accepted: noon },
      { name: 'other clients', accepted: 0 },
    ]);
    database.close();
  });

  it('keep the use of a client that is folded, although all its requests of the day failed', async () => {
    const { ledger, store } = openLedger({ maxClients: 2, maxRoutes: 8 });
    const failing = { requests: 1, failing: 1, errors: 1, served: 0, used: 0 };
    // A stream of the day before went on until noon.
    ledger.add([row({ client: 'reader', first: noon - dayMs, last: noon - dayMs })]);
    ledger.add([row({ client: 'reader', requests: 0, served: 0 }), row({ client: 'reader', ...failing })]);
    ledger.add(['a', 'b', 'c'].map((client) => row({ client, ...failing, requests: 2, failing: 2 })));
    ledger.maintain(noon);
    const database = new DatabaseSync(store, { readOnly: true });
    const used = database.prepare(
      'SELECT name, used FROM version_client JOIN clients ON id = client WHERE name IN (?, ?) ORDER BY name',
    );
    expect(used.all('other clients', 'reader')).toEqual([
      { name: 'other clients', used: noon },
      { name: 'reader', used: noon - dayMs },
    ]);
    database.close();
  });

  it('keep a client with an open stream rather than clients with one request', async () => {
    const { ledger } = openLedger(limits);
    ledger.add([row({ client: 'reader', requests: 0, last: noon + 9 })]);
    ledger.add(Array.from({ length: 40 }, (_one, n) => row({ client: `c${n}` })));
    expect((await readLedger(ledger).byClient('v1', 0)).map(({ client }) => client)).toContain('reader');
  });

  it('keep the days on which a client only had an open stream', async () => {
    const { ledger, store } = openLedger(limits);
    const before = noon - 3 * dayMs;
    ledger.add([row({ client: 'reader', first: before, requests: 0 }), row({ client: 'reader' })]);
    ledger.add(Array.from({ length: 40 }, (_one, n) => row({ client: `c${n}`, requests: 2 })));
    const uses = new Map((await readLedger(ledger).byClient('v1', 0)).map((use) => [use.client, use]));
    expect(uses.get('reader')).toMatchObject({ requests: 0, first: before, last: before });
    expect(problemsOf(store)).toEqual([]);
  });

  it('are reported as a number of requests', async () => {
    const { ledger } = openLedger(limits);
    const others = (version: string, first: number) => row({ version, client: 'other clients', first, requests: 5 });
    ledger.add([row(), others('v1', noon), others('v1', noon - 40 * dayMs), others('v2', noon)]);
    expect([
      await readLedger(ledger).requestsOfOtherClients(0),
      await readLedger(ledger).requestsOfOtherClients(0, 'v1'),
      await readLedger(ledger).requestsOfOtherClients(noon),
      await readLedger(ledger).requestsOfOtherClients(noon, 'v1'),
    ]).toEqual([15, 10, 10, 5]);
    expect([
      await readLedger(ledger).requestsOfOtherClients(noon + dayMs),
      await readLedger(ledger).requestsOfOtherClients(0, 'v9'),
    ]).toEqual([0, 0]);
    expect(await readLedger(openLedger().ledger).requestsOfOtherClients(0)).toBe(0);
  });
});

async function expectSums(ledger: ReturnType<typeof openLedger>['ledger'], rows: UsageBatch): Promise<void> {
  const versions = addUp(rows, ({ version }) => version);
  for (const [version, sum] of versions) {
    const clients = await readLedger(ledger).byClient(version, 0);
    for (const uses of [clients, await readLedger(ledger).byRoute(version, 0)]) {
      expect(uses.reduce((all, { requests }) => all + requests, 0)).toBe(sum.requests);
      expect(uses.reduce((all, { errors }) => all + errors, 0)).toBe(sum.errors);
    }
    expect(clients.reduce((all, { served }) => all + served, 0)).toBe(sum.served);
    expect(Math.min(...clients.map(({ first }) => first))).toBe(sum.first);
    expect(Math.max(...clients.map(({ last }) => last))).toBe(sum.last);
    expect((await readLedger(ledger).totals(0)).find((one) => one.version === version)?.clients).toBe(
      clients.filter(isSingleClient).length,
    );
    for (let n = 0; n < 10; n++) {
      const own = rows.filter((one) => one.version === version && one.client === `regular-${n}`);
      expect(clients.find(({ client }) => client === `regular-${n}`)?.requests).toBe(total(own, 'requests'));
    }
  }
}
