import { baseOf, nameIn, segmentOf } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { evidenceOf } from '../../usage/callFacts.ts';
import type { LiveFacts } from '../../usage/evidence/callEvidence.ts';
import type { AcceptedUse, UsageQueries } from '../../usage/usageQueries.ts';
import { type AnnouncedEnd, RouteEnds } from '../lifecycle/announcement.ts';
import { guidePath } from '../lifecycle/guide.ts';
import { runningWaivers, stageOf, successorOf } from '../lifecycle/stage.ts';
import type { ClientOfApi } from './selfService.ts';

export const ownUsagePeriodMs = 30 * 86_400_000;
const maxRoutes = 200;

/**
 * The JSON of `GET /versions/me` of an API: its versions and routes that one client has called in the last 30 days. Of a version in the
 * stage active, it lists only routes whose end is announced. A version without listed routes is left out. Earlier calls than
 * `counted_since` may be missing; null: calls of the whole period may be missing. Undefined: no backend of the API has ever accepted the
 * client. Another API's acceptance does not count, because an API may answer 2xx to any key. `now`: epoch ms.
 */
export async function ownUsage(
  queries: Pick<UsageQueries, 'acceptedUse' | 'coverage' | 'problem'>,
  snapshot: Snapshot,
  { client, base }: ClientOfApi,
  now: number,
  live: LiveFacts,
): Promise<string | undefined> {
  const since = Math.floor((now - ownUsagePeriodMs) / 1000) * 1000;
  const acceptedUses = await queries.acceptedUse(client, since, (version) => baseOf(version) === base);
  if (acceptedUses === undefined) return undefined;
  const byVersion = Map.groupBy(acceptedUses, ({ version }) => version);
  const versions = snapshot.sortedVersions.flatMap((version) => {
    const ends = RouteEnds.of(version);
    const uses = (byVersion.get(version.name) ?? []).map((use) => ({ ...use, end: endOf(use, ends) }));
    const listedUses = stageOf(version, now) === 'active' ? uses.filter(({ end }) => end !== undefined) : uses;
    return listedUses.length === 0 ? [] : [versionJson(version, snapshot, client, listedUses, now)];
  });
  const { countedSince, missing, pending } = await evidenceOf(
    queries,
    { version: undefined, now, quiet: ownUsagePeriodMs, since },
    live,
  );
  const isKnown = missing.every(({ code }) => code === 'ledger_short') && pending.length === 0;
  // Rounded up, because calls before it may be missing.
  const countedSecond = isKnown && countedSince !== undefined ? Math.ceil(countedSince / 1000) * 1000 : undefined;
  const period = { since: rfc3339(since), until: rfc3339(now), counted_since: rfc3339(countedSecond) ?? null };
  return `${JSON.stringify({ ...period, versions }, null, 2)}\n`;
}

/** `end`: undefined if no end of the route is announced. */
type UseAndEnd = AcceptedUse & { readonly end: AnnouncedEnd | undefined };

function endOf({ route }: AcceptedUse, ends: RouteEnds | undefined): AnnouncedEnd | undefined {
  const [method = '', path = ''] = route.split(' ', 2);
  return ends?.find(method, path);
}

/** Keys without a value are omitted. */
function versionJson(
  version: Version,
  snapshot: Snapshot,
  client: string,
  uses: readonly UseAndEnd[],
  now: number,
): object {
  const { basePath, publicUrl = '' } = snapshot.gateway;
  // By a waiver, a retired version still serves the client. `runningWaivers` sorts by end, so this finds the waiver that ends last.
  const waiver = runningWaivers(version, now).findLast(({ clients }) => clients.includes(client));
  const successor = successorOf(version, snapshot, now);
  const guide = guidePath(version, successor, snapshot);
  return {
    version: segmentOf(version.name),
    stage: waiver ? 'sunset' : stageOf(version, now),
    deprecation: rfc3339(version.deprecation),
    sunset: rfc3339(waiver?.until ?? version.sunset),
    successor: successor && {
      name: nameIn(baseOf(version.name), successor.name),
      url: `${publicUrl}${basePath}/${successor.name}`,
    },
    guide: guide && publicUrl + guide,
    info: version.info,
    requests: uses.reduce((sum, { requests }) => sum + requests, 0),
    last: rfc3339(Math.max(...uses.map(({ last }) => last))),
    routes: uses.slice(0, maxRoutes).map(({ route, requests, last, end }) => ({
      route,
      requests,
      last: rfc3339(last),
      deprecation: rfc3339(end?.deprecatedAt),
      sunset: rfc3339(end && (waiver?.until ?? end.sunsetAt)),
    })),
  };
}
