import type { Context, Entry } from '../rules/rule.ts';

/** Whether a version is answered by its targets at `now`. */
export function isServed({ route }: Entry, now: number): boolean {
  const isGone = route.after_sunset === 'gone' && route.sunset !== undefined && route.sunset <= now;
  return !route.retired && !isGone;
}

/** The version that the clients of `entry` are sent to. */
export function successorOf(entry: Entry, { entries }: Context, now: number): Entry | undefined {
  const { successor } = entry.route;
  if (successor !== undefined) return entries.find((other) => other.key === successor);
  return entries.find((other) => other.major > entry.major && isServed(other, now));
}
