import { chart } from './chart.js';
import { el, empty } from './dom.js';
import { count, date, day } from './format.js';
import { colorOf } from './versionColor.js';

/** @import { Trend } from './shapes.js' */

/** A zero that lies further ahead than this many times the days that were seen is drawn to the edge only. */
const farthest = 2;

/**
 * Requests to a version by day, with a projection to zero.
 * @param {HTMLElement} target
 * @param {string} version
 * @param {Trend} trend
 * @returns {() => void} takes it away
 */
export function decline(target, version, trend) {
  const { days } = trend;
  if (days.length === 0) {
    target.replaceChildren(empty('No complete day has been recorded yet.', 'The trend appears after three weeks.'));
    return () => {};
  }
  if (trend.kind === 'none' && days.every(({ requests }) => requests === 0)) {
    target.replaceChildren(empty(`No requests to ${version} in the recorded days.`));
    return () => {};
  }
  const place = el('div', {
    class: 'chart',
    role: 'img',
    'aria-label': `Requests to ${version} a day, ${days.map(({ requests }) => requests).join(', ')}`,
  });
  target.replaceChildren(el('p', { class: 'big' }, words(trend)), el('p', { class: 'soft' }, detail(trend)), place);
  const seen = days.map(({ at }) => Date.parse(at));
  const [start, edge] = projection(trend, seen);
  const data = [
    [...seen, edge?.at ?? []].flat().map((at) => at / 1_000),
    [...days.map(({ requests }) => requests), edge ? null : []].flat(),
    [...days.slice(1).map(() => null), start?.requests ?? null, edge?.requests ?? []].flat(),
  ];
  return chart(place, {
    data,
    series: [
      { label: 'requests', color: `--version-${colorOf(version)}` },
      { label: 'projected', color: '--soft', dashed: true },
    ],
    height: 220,
  });
}

/**
 * The line from the last day that was seen down to zero, or as much of it as fits.
 * @param {Trend} trend
 * @param {readonly number[]} seen
 */
function projection({ zero, per_day: perDay }, seen) {
  const from = seen.at(-1) ?? 0;
  const to = zero === null ? 0 : Date.parse(zero);
  if (to <= from || perDay === null) return [];
  const edge = Math.min(to, from + farthest * Math.max(7 * day, from - (seen[0] ?? from)));
  return [from, edge].map((at) => ({ at, requests: (-perDay * (to - at)) / day }));
}

/** @param {Trend} trend */
function words({ kind, zero }) {
  if (kind === 'falling')
    return zero === null
      ? 'Falling, but more slowly each week.'
      : `Falling: zero on ${date(Date.parse(zero))} at this rate.`;
  if (kind === 'not falling') return 'Not falling.';
  if (kind === 'not clear') return 'Fewer than the week before. The trend is not clear yet.';
  if (kind === 'none') return 'No request in the last seven days.';
  return 'Not enough days for a trend.';
}

/** @param {Trend} trend */
function detail({ per_day: perDay, days }) {
  const span = `${days.length} complete ${days.length === 1 ? 'day' : 'days'}`;
  if (perDay === null) return `Based on ${span}.`;
  const less = Math.abs(perDay) < 1 ? 'Less than one request' : `About ${count(Math.round(-perDay))} requests`;
  return `${less} fewer each day over the last three weeks.`;
}
