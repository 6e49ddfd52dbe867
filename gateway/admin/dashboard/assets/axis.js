import { svg } from './dom.js';
import { date, day } from './format.js';

/**
 * Years, quarters or months, whichever are a handful, and the date over today's line.
 * @param {number} from
 * @param {number} to
 * @param {number} now
 * @param {(at: number) => number} x
 */
export function axis(from, to, now, x) {
  const months = Math.ceil((to - from) / (30.4 * day) / 5);
  const step = [1, 3, 6, 12, 24, 60].find((one) => one >= months) ?? 120;
  const start = new Date(from);
  const ticks = [];
  for (let month = 0; ; month += step) {
    const year = start.getUTCFullYear();
    const at = step < 12 ? Date.UTC(year, month, 1) : Date.UTC(year + month / 12, 0, 1);
    if (at > to) break;
    if (at >= from) ticks.push(at);
  }
  return svg(
    'svg',
    { focusable: 'false' },
    svg('text', { class: 'now', x: `${x(now)}%`, y: 12, 'text-anchor': anchor(x(now)) }, `today, ${date(now)}`),
    svg('line', { class: 'today', x1: `${x(now)}%`, x2: `${x(now)}%`, y1: 18, y2: 38 }),
    ...ticks.map((at) => svg('line', { class: 'tick', x1: `${x(at)}%`, x2: `${x(at)}%`, y1: 34, y2: 38 })),
    // Beside today's line a year would be taken for that of today.
    ...ticks
      .filter((at) => Math.abs(x(at) - x(now)) > 7)
      .map((at) => svg('text', { x: `${x(at)}%`, y: 30, 'text-anchor': 'middle' }, label(at, step))),
  );
}

/** A date near an edge does not go over it. @param {number} x in per cent */
const anchor = (x) => (x > 80 ? 'end' : x < 20 ? 'start' : 'middle');

/**
 * @param {number} at
 * @param {number} step in months
 */
function label(at, step) {
  return step < 12 ? date(at).slice(2) : String(new Date(at).getUTCFullYear());
}
