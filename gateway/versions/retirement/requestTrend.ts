import { completeDays, type Day, type Trend, trendOf } from '../../usage/report/trend.ts';
import type { RouteQueries } from '../../usage/usageQueries.ts';
import { ignoredBy } from './countedUsage.ts';

const dayMs = 86_400_000;

// Also after the calls of a gateway whose clock is ahead.
const afterAllCalls = Number.MAX_SAFE_INTEGER;

/**
 * The trend of the requests to a version or one of its routes, without those of ignored clients. `firstDay`: the first complete day of the
 * ledger, epoch ms.
 */
export async function requestTrend(
  ignoreClients: readonly string[],
  version: string,
  queries: RouteQueries,
  firstDay: number | undefined,
  now: number,
): Promise<Trend> {
  const since = Math.floor(now / dayMs) * dayMs - 30 * dayMs;
  const ignored = ignoreClients.length === 0 ? [] : await queries.byClient(version, since, ignoredBy(ignoreClients));
  const ignoredClients = ignored.map(({ client }) => client);
  const ignoredDays = await queries.clientSeries(version, ignoredClients, since);
  const allDays = await queries.series('day', since, version);
  // Negative numbers subtract the requests of the ignored clients.
  const countedDays = [
    ...allDays.map(({ at, requests, failing }): Day => ({ at, requests: requests - failing })),
    ...ignoredDays.map(({ at, requests, failing }): Day => ({ at, requests: failing - requests })),
  ];
  const isIgnored = ignoredBy(ignoreClients);
  return trendOf(completeDays(countedDays, firstDay, now), now, async (shortestPause) => {
    const clients = await queries.pastClients(version, afterAllCalls, now, shortestPause);
    return clients.filter((one) => !isIgnored(one));
  });
}
