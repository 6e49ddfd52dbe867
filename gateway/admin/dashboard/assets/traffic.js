import { chart } from './chart.js';
import { el, empty } from './dom.js';
import { count, date, dateTime, percent } from './format.js';
import { firstKnown, partial, unknownUntil } from './known.js';
import { swatch } from './swatch.js';
import { colorOf } from './versionColor.js';

/** @import { Day, Usage } from './shapes.js' */

export const ranges = /** @type {const} */ ([
  ['24h', '24 h'],
  ['7d', '7 d'],
  ['30d', '30 d'],
  ['365d', '1 y'],
]);

/** Hours where days would be too few to see anything. @param {string} range */
export const stepOf = (range) => (range === '24h' || range === '7d' ? 'hour' : 'day');

/**
 * Requests of every version, stacked.
 * @param {HTMLElement} target
 * @param {Usage<Day & { version: string }>} usage
 * @param {'hour'|'day'} step
 * @returns {() => void} takes it away
 */
export function traffic(target, usage, step) {
  const names = [...new Set(usage.rows.map(({ version }) => version))].sort(byMajor);
  if (names.length === 0) {
    target.replaceChildren(empty('No requests in this period.', 'Versions appear here when clients call them.'));
    return () => {};
  }
  const { times, counts } = table(usage, names, step);
  const known = firstKnown(usage, times);
  const totals = counts.map((row) => row.slice(0, -1).reduce((sum, one) => sum + one, 0));
  const all = totals.reduce((sum, one) => sum + one, 0);
  const values = names.map((_name, index) => el('span', { class: 'value' }, amount(totals[index] ?? 0, all)));
  const when = el('p', { class: 'soft when' });
  const legend = el(
    'ul',
    { class: 'legend' },
    ...names.map((name, index) => el('li', {}, swatch(name), el('span', {}, name || 'no version'), values[index])),
  );
  /** @param {number|null} at */
  const show = (at) => {
    const column = at === null || at < known ? undefined : counts.map((row) => row[at] ?? 0);
    const sum = column?.reduce((one, other) => one + other, 0) ?? 0;
    names.forEach((_name, index) => {
      values[index]?.replaceChildren(column ? count(column[index] ?? 0) : amount(totals[index] ?? 0, all));
    });
    const spelled = step === 'hour' ? dateTime : date;
    const place = spelled((times[at ?? 0] ?? 0) * 1_000);
    if (at !== null && at < known) when.textContent = `${place}: not recorded`;
    else when.textContent = column ? `${place}: ${count(sum)}` : span(usage, all, step);
  };
  const place = el('div', {
    class: 'chart',
    role: 'img',
    'aria-label': `Requests by version: ${names.map((name, index) => `${name || 'no version'} ${count(totals[index] ?? 0)}`).join(', ')}`,
  });
  target.replaceChildren(legend, when, place);
  show(null);
  // The highest sum first, so that each lower one is painted over it.
  const order = names.map((_name, index) => index).reverse();
  return chart(place, {
    data: [
      times,
      ...order.map((upTo) =>
        times.map((_time, at) =>
          at < known ? null : counts.slice(0, upTo + 1).reduce((sum, row) => sum + (row[at] ?? 0), 0),
        ),
      ),
    ],
    series: order.map((index) => ({
      label: names[index] ?? '',
      color: `--version-${colorOf(names[index] ?? '')}`,
      fill: true,
      stepped: true,
    })),
    height: 260,
    hover: show,
    pale: partial(usage, times),
    unknown: unknownUntil(usage, times),
  });
}

/**
 * Spans without requests are left out by the API; here they are zeros.
 * @param {Usage<Day & { version: string }>} usage
 * @param {readonly string[]} names
 * @param {'hour'|'day'} step
 */
function table({ rows, since, until }, names, step) {
  const width = step === 'hour' ? 3_600_000 : 86_400_000;
  const start = Math.floor(Date.parse(since) / width);
  const steps = Math.floor(Date.parse(until) / width) - start + 1;
  // One more, where the last step ends.
  const times = Array.from({ length: steps + 1 }, (_nothing, at) => ((start + at) * width) / 1_000);
  const counts = names.map(() => Array.from({ length: steps + 1 }, () => 0));
  for (const { version, at, requests } of rows) {
    const row = counts[names.indexOf(version)];
    const column = Math.floor(Date.parse(at) / width) - start;
    if (row && column >= 0 && column < steps) row[column] = requests;
  }
  for (const row of counts) row[steps] = row[steps - 1] ?? 0;
  return { times, counts };
}

/**
 * @param {number} requests
 * @param {number} all
 */
function amount(requests, all) {
  return all === 0 ? count(requests) : `${count(requests)} · ${percent(requests / all)}`;
}

/**
 * @param {{ since: string, covered_since: string|null }} usage
 * @param {number} all
 * @param {'hour'|'day'} step
 */
function span({ since, covered_since: covered }, all, step) {
  const short = covered !== null && Date.parse(covered) > Date.parse(since);
  return `${count(all)} requests since ${dateTime(Date.parse(short ? covered : since))}${short ? ', when recording began' : ''}. Pale bars are incomplete ${step}s.`;
}

/**
 * @param {string} a
 * @param {string} b
 */
function byMajor(a, b) {
  return Number(a.slice(1) || -1) - Number(b.slice(1) || -1);
}
