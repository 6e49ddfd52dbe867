import { date } from './format.js';

/**
 * The first and the last span, unless they were counted from beginning to end: else a fall would show that is none.
 * @param {{ since: string, until: string, covered_since: string|null }} usage
 * @param {readonly number[]} times
 * @returns {(readonly [number, number])[]}
 */
export function partial({ since, until, covered_since: covered }, times) {
  const from = Math.max(Date.parse(since), Date.parse(covered ?? since)) / 1_000;
  return times.slice(1).flatMap((end, at) => {
    const start = times[at] ?? end;
    const cut = (start < from && from < end) || Date.parse(until) / 1_000 < end;
    return cut ? [/** @type {const} */ ([start, end])] : [];
  });
}

/**
 * The step in which counting began: of those before it nobody knows, which is not nothing.
 * @param {{ covered_since: string|null }} usage
 * @param {readonly number[]} times
 */
export function firstKnown({ covered_since: covered }, times) {
  if (covered === null) return 0;
  const began = Date.parse(covered) / 1_000;
  return Math.max(
    0,
    times.findIndex((_start, at) => (times[at + 1] ?? Number.POSITIVE_INFINITY) > began),
  );
}

/**
 * @param {{ since: string, covered_since: string|null }} usage
 * @param {readonly number[]} times
 */
export function unknownUntil(usage, times) {
  const until = times[firstKnown(usage, times)] ?? 0;
  const { covered_since: covered } = usage;
  if (covered === null || until <= (times[0] ?? 0)) return undefined;
  return { until, text: `Recorded since ${date(Date.parse(covered))}` };
}
