import type { AcceptedVersion } from '../config/acceptedConfig.ts';
import type { BrownoutWindow } from '../config/clientRules.ts';
import { rfc3339 } from '../shared/httpDate.ts';

/** Identifies a brownout in messages between processes and gateways: `v1 2027-03-02T14:00:00Z`. */
export function brownoutKey(version: string, { at }: Pick<BrownoutWindow, 'at'>): string {
  return `${version} ${rfc3339(at)}`;
}

/** The brownout that contains `now`; undefined: there is none. */
export function brownoutAt(windows: readonly BrownoutWindow[], now: number): BrownoutWindow | undefined {
  // Most versions have few windows, and nearly always all of them are over or ahead.
  for (const window of windows) if (now < window.end) return window.at <= now ? window : undefined;
  return undefined;
}

/** The first brownout that begins after `now`. */
export function nextBrownout(windows: readonly BrownoutWindow[], now: number): BrownoutWindow | undefined {
  return windows.find(({ at }) => at > now);
}

/**
 * Messages about brownouts of a version that an edit announces too late, moves earlier, makes longer or extends to more clients
 * or routes. A brownout may be removed, made shorter or restricted at any time. `notice`: `brownout.notice`, ms.
 */
export function brownoutMessages(
  { name, brownouts: before }: AcceptedVersion,
  { brownouts: after }: AcceptedVersion,
  notice: number,
  now: number,
): string[] {
  const what = (window: BrownoutWindow): string => `The brownout of /${name} at ${rfc3339(window.at)}`;
  const changed = after.filter((window) => window.end > now && !before.some((old) => isWithin(window, old)));
  const removed = before.filter((old) => old.end > now && !after.some(({ at }) => at === old.at));
  const added = changed.filter(({ at }) => !before.some((old) => old.at === at));
  const isSoon = ({ at }: BrownoutWindow): boolean => notice > 0 && at - now < notice;
  return changed.flatMap((window): string[] => {
    const same = before.find(({ at }) => at === window.at);
    if (same && window.end > same.end)
      return [`${what(window)} becomes longer: it ends at ${rfc3339(window.end)} instead of ${rfc3339(same.end)}.`];
    // The first brownout that is new takes the place of the first one that is missing, and so on.
    const old = same ? undefined : removed[added.indexOf(window)];
    if (old && window.at < old.at) return [`${what(old)} moves to ${rfc3339(window.at)}, which is earlier.`];
    if (!isSoon(window)) return [];
    const ahead = `is less than brownout.notice (${inDays(notice)}) ahead.`;
    return same ? [`${what(window)} gets more clients or routes, and ${ahead}`] : [`${what(window)} ${ahead}`];
  });
}

/** Whether `window` refuses nothing that `other` does not refuse. */
function isWithin(window: BrownoutWindow, other: BrownoutWindow): boolean {
  const hasRoutes =
    other.routes === undefined ||
    window.routes?.every(({ method, path }) => other.routes?.some((one) => one.method === method && one.path === path));
  return other.at <= window.at && window.end <= other.end && window.clients <= other.clients && hasRoutes === true;
}

function inDays(ms: number): string {
  const days = Math.round(ms / 86_400_000);
  return days === 1 ? '1 day' : `${days} days`;
}
