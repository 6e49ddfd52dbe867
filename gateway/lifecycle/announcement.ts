import type { Snapshot, Version } from '../config/snapshot.ts';
import { httpDate } from '../shared/httpDate.ts';
import { type Stage, stageOf } from './stage.ts';
import { latestOf, type Way, wayTo } from './successor.ts';

/** What the responses of a version say about its end. It holds for all requests of one second. */
export interface Announcement {
  readonly stage: Stage;
  /** `@<unix seconds>` (RFC 9745 §2.1), or undefined. */
  readonly deprecation: string | undefined;
  /** An IMF-fixdate (RFC 8594 §3), or undefined. */
  readonly sunset: string | undefined;
  /** Link values about the page for people: the same for every path. */
  readonly pages: readonly string[];
  readonly successor: Version | undefined;
  /** From the successor on to the newest live major, where that is another one and can be reached. */
  readonly onwards: Way | undefined;
}

/** What every version of a snapshot has to say at `now`; nothing while it is active. */
export function announce(snapshot: Snapshot, now: number): ReadonlyMap<Version, Announcement> {
  const latest = latestOf(snapshot, now);
  const ways = new Map<Version, Way>();
  const announcements = new Map<Version, Announcement>();
  let nextLive: Version | undefined;
  // From the highest major down, so that the way from a successor on is known already.
  for (const version of snapshot.byMajor.toReversed()) {
    const stage = stageOf(version, now);
    const named = version.successor === undefined ? nextLive : snapshot.versions.get(version.successor);
    ways.set(version, wayTo(latest, version, named, ways));
    if (stage !== 'active') announcements.set(version, announcementOf(version, stage, named, latest, ways));
    if (stage !== 'retired') nextLive = version;
  }
  return announcements;
}

function announcementOf(
  version: Version,
  stage: Stage,
  successor: Version | undefined,
  latest: Version | undefined,
  ways: ReadonlyMap<Version, Way>,
): Announcement {
  const way = successor && ways.get(successor);
  return {
    stage,
    deprecation: version.deprecation === undefined ? undefined : `@${Math.floor(version.deprecation / 1000)}`,
    sunset: version.sunset === undefined ? undefined : httpDate(version.sunset),
    pages: pagesOf(version),
    successor,
    onwards: way && way.end !== successor && way.end === latest ? way : undefined,
  };
}

/** RFC 9745 §3 and RFC 8594 §6: where people read more. */
function pagesOf({ info, deprecation, sunset }: Version): string[] {
  if (info === undefined) return [];
  const rels = [deprecation === undefined ? [] : ['deprecation'], sunset === undefined ? [] : ['sunset']].flat();
  return rels.map((rel) => `<${info}>; rel="${rel}"; type="text/html"`);
}
