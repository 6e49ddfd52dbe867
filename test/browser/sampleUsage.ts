import type { ClientUse, UsageQueries } from '../../gateway/usage/usageQueries.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** A User-Agent with a script that would run if it were parsed as markup. */
export const hostile = `user-agent:<img src=x onerror="window.ran=1"><script>window.ran=1</script>`;

interface Habit {
  readonly version: string;
  readonly client: string;
  readonly name?: string;
  readonly routes: readonly string[];
  /** Requests in an hour that began `ago` days before now. */
  readonly rate: (ago: number) => number;
}

interface Row {
  readonly version: string;
  readonly client: string;
  readonly route: string;
  readonly at: number;
  readonly requests: number;
}

const [list, drink, search, add] = ['GET /cocktails', 'GET /drinks/{id}', 'GET /legacy-search', 'POST /cocktails'];

const everyday: readonly Habit[] = [
  {
    version: 'v1',
    client: 'x-client-id:billing-batch',
    name: 'Billing',
    routes: [list, drink, list, add, list, 'GET /ingredients', 'GET /cocktails/{id}/ratings'],
    rate: (ago) => 3 + ago * 0.35,
  },
  { version: 'v1', client: 'x-client-id:kiosk-eu', routes: [list, search], rate: (ago) => 2 + ago * 0.3 },
  { version: 'v1', client: 'x-api-key:#4f2a91c0', routes: [drink], rate: (ago) => (ago > 9 ? 4 : 0) },
  {
    version: 'v1',
    client: 'x-client-id:partner-orders',
    name: 'Orders (partner)',
    routes: [add],
    rate: (ago) => (ago < 4 ? 1 : 0),
  },
  { version: 'v1', client: 'user-agent:curl', routes: [list], rate: (ago) => (ago === 2 ? 1 : 0) },
  { version: 'v2', client: 'x-client-id:kiosk-eu', routes: [list], rate: (ago) => Math.max(0, 9 - ago * 0.3) },
  { version: 'v2', client: 'x-api-key:#4f2a91c0', routes: [drink], rate: (ago) => (ago < 10 ? 5 : 0) },
  {
    version: 'v2',
    client: 'x-client-id:partner-orders',
    name: 'Orders (partner)',
    routes: [add],
    rate: (ago) => (ago > 6 ? 2 : 0),
  },
  { version: 'v2', client: 'x-client-id:web-shop', routes: [list, drink], rate: () => 24 },
  {
    version: 'v2',
    client: 'x-client-id:app-android',
    name: 'Android app',
    routes: [list],
    rate: (ago) => 8 + (30 - ago) * 0.2,
  },
  { version: 'v3', client: 'x-client-id:web-shop', routes: [list], rate: (ago) => Math.max(0, 16 - ago) },
];

const attack: Habit = { version: 'v1', client: hostile, routes: [search], rate: (ago) => (ago < 12 ? 1 : 0) };

/**
 * 35 days of requests, more by day than by night. The requests of an attacker are optional. `gateways`: those of a fleet; each
 * hour of requests went through one of them in turn.
 */
export function sampleUsage(now: number, attacked = true, gateways?: readonly string[]): UsageQueries {
  const thisHour = Math.floor(now / hour) * hour;
  const habits = attacked ? [...everyday, attack] : everyday;
  const rows = habits.flatMap((habit) => rowsOf(habit, thisHour));
  const names = new Map(habits.map(({ client, name }) => [client, name]));
  const pick = (since: number, version?: string) =>
    rows.filter(
      (row) => row.at >= Math.floor(since / hour) * hour && (version === undefined || row.version === version),
    );
  const clientsOf = (version: string, since: number) =>
    withCommas(pick(since, version), ({ client }) => client).map(([client, own]) =>
      use(client, names.get(client), own),
    );
  const totals = async (since: number) =>
    withCommas(pick(since), ({ version }) => version).map(([version, own]) => ({
      ...use(version, undefined, own),
      version,
      clients: new Set(own.map(({ client }) => client)).size,
    }));
  const byRoute = async (version: string, since: number) =>
    withCommas(pick(since, version), ({ route }) => route).map(([route, own]) => ({
      ...use(route, undefined, own),
      route,
      clients: new Set(own.map(({ client }) => client)).size,
    }));
  return {
    coverage: async () => ({ since: thisHour - 35 * day, losses: [] }),
    namingRules: async () => ({ id: '', since: 0 }),
    ...noUsageOfSizes,
    firstCalls: async () => [],
    totals,
    requests: totals,
    beginOfClientCounts: async (since) => since,
    byClient: async (version, since, isWanted = () => true) => clientsOf(version, since).filter(isWanted),
    byVersionAndClient: async (since) => {
      const versions = [...new Set(pick(since).map(({ version }) => version))].filter((version) => version !== '');
      return versions.flatMap((version) => clientsOf(version, since).map((one) => ({ ...one, version })));
    },
    newClients: async (version, since) => clientsOf(version, 0).filter((one) => one.first >= since),
    byRoute,
    routes: byRoute,
    series: async (step, since, version) => series(pick(since, version), step === 'hour' ? hour : day),
    clientSeries: async (version, clients, since) =>
      clients.flatMap((client) => {
        const own = pick(since, version).filter((row) => row.client === client);
        return series(own, day).map((point) => ({ ...point, client }));
      }),
    arrivals: async () => [],
    movement: async (from, to, since) => {
      const [old, young] = [from, to].map((one) => new Map(clientsOf(one, since).map((each) => [each.client, each])));
      return [...new Set([...(old?.keys() ?? []), ...(young?.keys() ?? [])])].map((client) => ({
        client,
        name: names.get(client),
        hasUsedOld: pick(0, from).some((row) => row.client === client),
        from: old?.get(client),
        to: young?.get(client),
      }));
    },
    instances: async () => gateways,
    instanceDays: async (instance, since, version) => {
      const own = pick(Math.floor(since / day) * day, version).filter(
        ({ at }) => gateways?.[(at / hour) % gateways.length] === instance,
      );
      return series(own, day).map((point) => ({ ...point, errors: 0, served: point.requests, refused: 0 }));
    },
    lastUsed: async () => new Map(),
    pastClients: async () => [],
    requestsOfOtherClients: async () => 0,
    acceptedUse: async () => undefined,
    ofRoutes: async () => noUsage,
    brownouts: noUsage.brownouts,
    problem: undefined,
    problems: [],
    unwrittenRows: 0,
  };
}

const noUsageOfSizes = {
  sizes: async () => [],
  sizesSince: async () => 0,
  answerSettings: async () => undefined,
};

/** An empty ledger. */
export const noUsage: UsageQueries = {
  ...noUsageOfSizes,
  coverage: async () => ({ since: undefined, losses: [] }),
  namingRules: async () => ({ id: '', since: 0 }),
  firstCalls: async () => [],
  totals: async () => [],
  requests: async () => [],
  beginOfClientCounts: async (since) => since,
  byClient: async () => [],
  byVersionAndClient: async () => [],
  newClients: async () => [],
  byRoute: async () => [],
  routes: async () => [],
  series: async () => [],
  clientSeries: async () => [],
  arrivals: async () => [],
  movement: async () => [],
  instances: async () => undefined,
  instanceDays: async () => [],
  lastUsed: async () => new Map(),
  pastClients: async () => [],
  requestsOfOtherClients: async () => 0,
  acceptedUse: async () => undefined,
  ofRoutes: async () => noUsage,
  brownouts: {
    totals: async () => [],
    decisions: async () => [],
    refused: async () => [],
    notRefused: async () => ({ count: 0, clients: [] }),
  },
  problem: undefined,
  problems: [],
  unwrittenRows: 0,
};

function rowsOf({ version, client, routes, rate }: Habit, thisHour: number): Row[] {
  const rows: Row[] = [];
  for (let at = thisHour - 35 * day; at <= thisHour; at += hour) {
    const ago = Math.floor((thisHour - at) / day);
    const wave = 0.6 + 0.4 * Math.sin(((at / hour) % 24) / 3.8 - 2);
    const requests = Math.round(rate(ago) * wave);
    const route = routes[(at / hour) % routes.length] as string;
    if (requests > 0) rows.push({ version, client, route, at, requests });
  }
  return rows;
}

function use(client: string, name: string | undefined, rows: readonly Row[]): ClientUse {
  const requests = rows.reduce((sum, row) => sum + row.requests, 0);
  const times = rows.map(({ at }) => at);
  return {
    client,
    name,
    requests,
    errors: Math.floor(requests / 90),
    served: requests,
    failing: 0,
    refused: 0,
    lastUsed: Math.max(...times) + 1_020_000,
    first: Math.min(...times),
    last: Math.max(...times) + 1_020_000,
    routes: new Set(rows.map(({ route }) => route)).size,
    topRoutes: withCommas(rows, ({ route }) => route).map(([route, own]) => ({
      route,
      requests: own.reduce((sum, row) => sum + row.requests, 0),
      last: Math.max(...own.map(({ at }) => at)),
    })),
  };
}

function withCommas(rows: readonly Row[], key: (row: Row) => string): [string, Row[]][] {
  const sum = (own: readonly Row[]) => own.reduce((all, { requests }) => all + requests, 0);
  return [...Map.groupBy(rows, key)].sort(([, a], [, b]) => sum(b) - sum(a));
}

function series(rows: readonly Row[], width: number) {
  const spans = Map.groupBy(rows, ({ version, at }) => `${version} ${Math.floor(at / width) * width}`);
  return [...spans.values()]
    .map((own) => ({
      version: own[0]?.version ?? '',
      at: Math.floor((own[0]?.at ?? 0) / width) * width,
      requests: own.reduce((sum, { requests }) => sum + requests, 0),
      failing: 0,
    }))
    .sort((a, b) => a.at - b.at);
}
