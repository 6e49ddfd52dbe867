import { describe, expect, it } from 'vitest';
import { requestsWithoutRoute } from '../../../gateway/usage/counting/routeNames.ts';
import { otherClients, otherRoute, type UsageRow } from '../../../gateway/usage/usageRow.ts';
import { readersOn } from '../../support/fleetLedger.ts';
import { addUp, dayMs, noon, randomBatch, randomOf, row } from '../model.ts';
import { openLedger } from './ledgerFixture.ts';

const route = 'GET /legacy-search';
const day = (days: number): number => noon - days * dayMs;

describe.each(readersOn)('queries about single routes on %s', (_database, makeReader) => {
  const read = makeReader();

  it('return the exact counts of each client, also for several routes', async () => {
    const { ledger } = openLedger();
    const rows = randomBatch(randomOf(7), 2_000, 40 * dayMs);
    for (let at = 0; at < rows.length; at += 500) ledger.add(rows.slice(at, at + 500));
    const reader = read(ledger);
    for (const routes of [['GET /r1'], ['GET /r2', 'GET /r5'], ['GET /none']]) {
      const queries = await reader.ofRoutes(routes);
      for (const since of [0, day(6) - (day(6) % dayMs)]) {
        const own = rows.filter((one) => one.version === 'v1' && routes.includes(one.route) && one.hour >= since);
        const found = await queries.byClient('v1', since);
        expect(counted(found.map((one) => [one.client, one]))).toEqual(counted(addUp(own, ({ client }) => client)));
        const days = await queries.series('day', since, 'v1');
        expect(days.reduce((sum, { requests }) => sum + requests, 0)).toBe(sumOf(own));
        expect((await queries.byRoute('v1', since)).reduce((sum, { requests }) => sum + requests, 0)).toBe(sumOf(own));
        const clientDays = await queries.clientSeries('v1', ['x-client-id:c3'], since);
        const ofClient = own.filter(({ client }) => client === 'x-client-id:c3');
        expect(clientDays.reduce((sum, { requests }) => sum + requests, 0)).toBe(sumOf(ofClient));
      }
    }
    expect(reader.problem).toBeUndefined();
  });

  it('tell use from failure by the requests to the route, not to the version', async () => {
    const { ledger } = openLedger();
    ledger.add([
      row({ route, requests: 3, failing: 3, used: 0, accepted: 0 }),
      row({ route: 'GET /drinks', requests: 5, first: day(3) }),
      row({ route, client: 'shop', first: day(9), last: day(9) + 5 }),
      row({ route, client: 'shop', first: day(2), failing: 1, used: 0 }),
    ]);
    const queries = await read(ledger).ofRoutes([route]);
    expect((await queries.byClient('v1', day(7))).map(({ client, lastUsed }) => [client, lastUsed])).toEqual([
      ['x-client-id:shop', undefined],
      ['shop', day(9) + 5],
    ]);
    expect(await queries.lastUsed()).toEqual(new Map([['v1', day(9) + 5]]));
    expect((await queries.newClients('v1', day(5))).map(({ client }) => client)).toEqual([]);
    expect(await queries.pastClients('v1', day(7), noon)).toMatchObject([
      { client: 'shop', requests: 1, first: day(9), last: day(9) + 5, usualPause: undefined },
    ]);
  });

  it('find clients that call the route rarely, although they call the version daily', async () => {
    const { ledger } = openLedger();
    const daily = Array.from({ length: 100 }, (_one, days) => row({ route: 'GET /drinks', first: day(days) }));
    const monthly = [97, 67, 37, 9].flatMap((days) => [
      row({ route, first: day(days) }),
      row({ route: `HEAD /legacy-search`, first: day(days) + 9 }),
    ]);
    ledger.add([...daily, ...monthly]);
    const queries = await read(ledger).ofRoutes([route, 'HEAD /legacy-search']);
    const [past] = await queries.pastClients('v1', day(7), noon, 7 * dayMs);
    expect(past).toMatchObject({ first: day(97), last: day(9) + 9, requests: 8 });
    expect(Math.round((past?.usualPause ?? 0) / dayMs)).toBe(30);
  });

  it('include the clients above the limit, and count the requests that may be hidden', async () => {
    const { ledger } = openLedger();
    const others = row({ client: otherClients, route, requests: 4 });
    ledger.add([
      others,
      row({ route: otherRoute, requests: 9, failing: 2 }),
      row({ version: 'v2', route: otherRoute }),
    ]);
    const reader = read(ledger);
    expect(await (await reader.ofRoutes([route])).byClient('v1', 0)).toMatchObject([
      { client: otherClients, requests: 4 },
    ]);
    expect([
      await requestsWithoutRoute(reader, 'v1', 0),
      await requestsWithoutRoute(reader, 'v2', 0),
      await requestsWithoutRoute(reader, 'v3', 0),
    ]).toEqual([7, 1, 0]);
    const { ledger: failing } = openLedger();
    failing.add([row({ route: otherRoute, requests: 9, failing: 9, used: 0 })]);
    expect(await requestsWithoutRoute(read(failing), 'v1', 0)).toBe(0);
  });

  it('stay exact when clients and routes are folded', async () => {
    const { ledger } = openLedger({ maxClients: 4, maxRoutes: 3 });
    const random = randomOf(3);
    const rows = Array.from({ length: 600 }, (_one, n): UsageRow => {
      const requests = n % 3 === 0 ? 30 : 1;
      return row({
        client: n % 3 === 0 ? `regular-${random(3)}` : `flood-${n}`,
        route: n % 2 === 0 ? route : `GET /r${random(90)}`,
        first: day(random(3)),
        requests,
        failing: random(requests + 1),
      });
    });
    for (let at = 0; at < rows.length; at += 60) ledger.add(rows.slice(at, at + 60));
    ledger.maintain(noon);
    const reader = read(ledger);
    const found = await (await reader.ofRoutes([route, otherRoute])).byClient('v1', 0);
    const all = await reader.byRoute('v1', 0);
    const named = all.filter((one) => one.route === route || one.route === otherRoute);
    for (const count of ['requests', 'failing'] as const)
      expect(found.reduce((sum, one) => sum + one[count], 0)).toBe(named.reduce((sum, one) => sum + one[count], 0));
    expect(named.find((one) => one.route === route)?.requests).toBeGreaterThanOrEqual(0);
    expect(all.reduce((sum, { requests }) => sum + requests, 0)).toBe(sumOf(rows));
  });
});

/** By client: its counts, in the order of the clients. */
function counted(clients: Iterable<readonly [string, object]>) {
  return [...clients]
    .map(([client, one]) => {
      const { requests, errors, served, failing, refused, first, last } = one as UsageRow;
      return [client, requests, errors, served, failing, refused, first, last];
    })
    .sort();
}

function sumOf(rows: readonly UsageRow[]): number {
  return rows.reduce((sum, { requests }) => sum + requests, 0);
}
