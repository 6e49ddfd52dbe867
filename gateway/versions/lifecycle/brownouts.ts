import type { AcceptedVersion } from '../../config/acceptedConfig.ts';
import type { BrownoutSettings, BrownoutWindow } from '../../config/clientRules.ts';
import { type Instant, isoText, rfc3339 } from '../../shared/instant.ts';
import { inWholeUnits, percent, printableExcerpt } from '../../shared/text.ts';
import type { BrownoutRecord } from '../../usage/usageRow.ts';

/** Identifies a brownout in messages between processes and gateways: `v1 2027-03-02T14:00:00Z`. */
export function brownoutKey(version: string, { at }: Pick<BrownoutWindow, 'at'>): string {
  return `${version} ${rfc3339(at)}`;
}

/**
 * The `brownoutKey` of a skipped or stopped brownout of the current configuration → when that was decided, epoch ms. A brownout
 * that an edit made longer after its end is also listed, because it does not start again.
 */
export type CancelledBrownouts = ReadonlyMap<string, number>;

type PlannedBrownouts = Pick<AcceptedVersion, 'name' | 'brownouts'>;

/** `recordOf`: returns what was decided about the brownout with a key. */
export function cancelledBrownouts(
  versions: readonly PlannedBrownouts[],
  recordOf: (key: string) => BrownoutRecord | undefined,
): CancelledBrownouts {
  return new Map(
    versions.flatMap(({ name, brownouts }) =>
      brownouts.flatMap((window): [string, number][] => {
        const key = brownoutKey(name, window);
        const { state, changed = 0 } = recordOf(key) ?? {};
        // An edit has made the brownout longer after its end.
        const hadEarlierEnd = state === 'ended' && changed < window.end;
        return state === 'skipped' || state === 'stopped' || hadEarlierEnd ? [[key, changed]] : [];
      }),
    ),
  );
}

/** The brownouts that are neither over nor cancelled. */
export function brownoutsAhead(
  { name, brownouts }: PlannedBrownouts,
  cancelled: CancelledBrownouts,
  now: number,
): readonly BrownoutWindow[] {
  return brownouts.filter((window) => now < window.end && !cancelled.has(brownoutKey(name, window)));
}

/** The brownout that contains `now`; undefined: there is none. */
export function brownoutAt(windows: readonly BrownoutWindow[], now: number): BrownoutWindow | undefined {
  // The windows are in order of time and do not overlap.
  for (const window of windows) if (now < window.end) return window.at <= now ? window : undefined;
  return undefined;
}

/** The first brownout that begins after `now` and is not cancelled. */
export function nextBrownout(
  { name, brownouts }: PlannedBrownouts,
  cancelled: CancelledBrownouts,
  now: number,
): BrownoutWindow | undefined {
  return brownouts.find((window) => window.at > now && !cancelled.has(brownoutKey(name, window)));
}

/**
 * The state of a brownout. `approved`: its checks have passed, and it begins soon. `missed`: no gateway was running between its start
 * and its end.
 */
export type BrownoutState = 'planned' | 'running' | 'missed' | BrownoutRecord['state'];

/** A brownout of the current configuration, for operators. */
export interface BrownoutStatus {
  readonly version: string;
  readonly at: Instant;
  readonly until: Instant;
  /** The share of clients that it refuses, 0 to 1. */
  readonly clients: number;
  /** `GET /drinks/{id}`; null: all. */
  readonly routes: readonly string[] | null;
  readonly state: BrownoutState;
  /** Why it was skipped or stopped. */
  readonly reason: string | null;
  /** When the successor was last checked. If the check fails, the brownout ends. Null: not checked yet. */
  readonly successor_checked: Instant | null;
}

/** `isStored`: false if the store does not answer. The other gateways of a fleet then do not know of the stop yet. */
export type BrownoutStop =
  | { readonly kind: 'stopped'; readonly brownout: BrownoutStatus; readonly isStored: boolean }
  | { readonly kind: 'nothing'; readonly reason: string };

export function brownoutStatus(
  version: string,
  { at, end, clientShare, routes }: BrownoutWindow,
  record: BrownoutRecord | undefined,
  successorChecked: number | undefined,
  now: number,
): BrownoutStatus {
  let state: BrownoutState = record?.state ?? (now < end ? 'planned' : 'missed');
  if (state === 'approved' && now >= at) state = now < end ? 'running' : 'ended';
  return {
    version,
    at: isoText(at),
    until: isoText(end),
    clients: clientShare,
    routes: routes?.map(({ method, path }) => `${method} ${path}`) ?? null,
    state,
    reason: record?.reason ?? null,
    successor_checked: successorChecked === undefined ? null : isoText(successorChecked),
  };
}

/** The line for the operator when a brownout begins. */
export function beginLine(version: string, { end, clientShare, routes }: BrownoutWindow): string {
  const where = routes === undefined ? '' : ` on ${routes.map(({ method, path }) => `${method} ${path}`).join(', ')}`;
  return `/${version}: a brownout refuses ${percent(clientShare)} of the clients${where} until ${rfc3339(end)}`;
}

/** The line for the operator when a brownout is over, or will not begin. */
export function brownoutEndLine(
  version: string,
  { at }: Pick<BrownoutWindow, 'at'>,
  state: BrownoutRecord['state'],
  reason: string | null,
): string {
  const what = state === 'ended' ? 'has ended' : `is ${state}`;
  return `/${version}: the brownout of ${rfc3339(at)} ${what}${reason === null ? '' : `: ${reason}`}`;
}

/**
 * Messages about an edit that announces a brownout of a version too late, moves it earlier, makes it longer or extends it to more
 * clients or routes. A brownout may be removed, made shorter, or limited to fewer clients or routes at any
 * time. `notice`: `brownout.notice`, ms.
 */
export function brownoutMessages(
  { name, brownouts: before }: AcceptedVersion,
  { brownouts: after }: AcceptedVersion,
  notice: number,
  now: number,
): string[] {
  const describe = (window: BrownoutWindow): string => `The brownout of /${name} at ${rfc3339(window.at)}`;
  const changed = after.filter((window) => window.end > now && !before.some((old) => isWithin(window, old)));
  const removed = before.filter((old) => old.end > now && !after.some(({ at }) => at === old.at));
  const added = changed.filter(({ at }) => !before.some((old) => old.at === at));
  return changed.flatMap((window): string[] => {
    const sameBefore = before.find(({ at }) => at === window.at);
    if (sameBefore && window.end > sameBefore.end)
      return [
        `${describe(window)} becomes longer: it ends at ${rfc3339(window.end)} instead of ${rfc3339(sameBefore.end)}.`,
      ];
    // A brownout that was moved looks like one removed and one added. Removed and added brownouts are paired in order: the first with the first, and so on.
    const movedFrom = sameBefore ? undefined : removed[added.indexOf(window)];
    if (movedFrom && window.at < movedFrom.at)
      return [`${describe(movedFrom)} moves to ${rfc3339(window.at)}, which is earlier.`];
    if (!isSoon(window.at, notice, now)) return [];
    const ahead = `is less than brownout.notice (${inWholeUnits(notice)}) ahead.`;
    return sameBefore
      ? [`${describe(window)} gets more clients or routes, and ${ahead}`]
      : [`${describe(window)} ${ahead}`];
  });
}

/** `notice`: `brownout.notice`, ms; 0 means off. */
function isSoon(at: number, notice: number, now: number): boolean {
  return notice > 0 && at - now < notice;
}

/** Messages about brownouts, running or announced for soon, that an edit extends to clients which they spared before. */
export function sparedMessages(
  { name, brownouts: before }: AcceptedVersion,
  { brownouts: after, waivers }: AcceptedVersion,
  sparedBefore: readonly string[],
  { spared, notice }: Pick<BrownoutSettings, 'spared' | 'notice'>,
  now: number,
): string[] {
  const soonWindows = after.filter(({ at, end }) => now < end && isSoon(at, notice, now));
  return soonWindows.flatMap((window): string[] => {
    const waived = waivers.filter(({ until }) => until >= window.end).flatMap(({ clients = [] }) => clients);
    const sparedAfter = new Set([...spared, ...waived]);
    const lostClient = sparedBefore.find((client) => !sparedAfter.has(client));
    // For a new or extended brownout, `brownoutMessages` has a message already.
    if (lostClient === undefined || !before.some((old) => isWithin(window, old))) return [];
    const what = `The brownout of /${name} at ${rfc3339(window.at)} no longer spares ${printableExcerpt(lostClient)}`;
    const remedy = 'List the client in brownout.spare until then, or remove the brownout.';
    return [`${what}, and is less than brownout.notice (${inWholeUnits(notice)}) ahead. ${remedy}`];
  });
}

/** Whether `other` refuses everything that `window` refuses. */
function isWithin(window: BrownoutWindow, other: BrownoutWindow): boolean {
  const areRoutesWithin =
    other.routes === undefined ||
    window.routes?.every(({ method, path }) => other.routes?.some((one) => one.method === method && one.path === path));
  return (
    other.at <= window.at &&
    window.end <= other.end &&
    window.clientShare <= other.clientShare &&
    areRoutesWithin === true
  );
}
