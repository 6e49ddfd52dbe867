import { axis } from './axis.js';
import { el, empty, svg } from './dom.js';
import { date, day, distance, fromNow } from './format.js';
import { swatch } from './swatch.js';

/** @import { VersionStatus } from './shapes.js' */

/** @type {Record<string, string>} */
export const stages = {
  active: 'Active',
  announced: 'Deprecation announced',
  deprecated: 'Deprecated',
  sunset: 'Past its sunset',
  retired: 'Retired',
  removed: 'Removed',
};

// Room on both sides, in per cent: for the time before the first date and after the last one.
const [first, last] = [8, 92];

/**
 * Every version's lifecycle as a bar over one axis of time.
 * @param {readonly VersionStatus[]} versions
 * @param {number} now
 */
export function lives(versions, now) {
  if (versions.length === 0) return empty('No version is configured.');
  const dates = versions.flatMap(({ deprecation, sunset }) =>
    [deprecation, sunset].map(instant).filter(Number.isFinite),
  );
  const from = Math.min(now - 90 * day, ...dates);
  const to = Math.max(now + 90 * day, ...dates);
  /** @param {number} at */
  const x = (at) => Math.max(0, Math.min(100, first + ((at - from) / (to - from)) * (last - first)));
  return el(
    'div',
    { class: 'lives' },
    el('div', { class: 'life axis', 'aria-hidden': true }, el('span'), axis(from, to, now, x), el('span')),
    el('ol', {}, ...versions.toReversed().map((version) => row(version, now, x))),
    key(),
  );
}

/**
 * @param {VersionStatus} version
 * @param {number} now
 * @param {(at: number) => number} x
 */
function row(version, now, x) {
  const { stage, deprecation, sunset } = version;
  const retired = stage === 'retired' || stage === 'removed';
  const end = retired ? Math.min(finite(sunset), now) : Number.POSITIVE_INFINITY;
  const leaving = x(Math.min(finite(deprecation), end));
  const overdue = x(Math.min(finite(sunset), end));
  const stop = x(end);
  const bars = [
    bar('track', 0, 100),
    bar('served', 0, leaving),
    bar('leaving', leaving, overdue),
    bar('overdue', overdue, stop),
    // What is yet to come may still be changed.
    svg('rect', { class: 'future', x: `${x(now)}%`, y: 0, width: `${100 - x(now)}%`, height: 28 }),
  ];
  const today = svg('line', { class: 'today', x1: `${x(now)}%`, x2: `${x(now)}%`, y1: 0, y2: 28 });
  return el(
    'li',
    { class: 'life' },
    el('div', { class: 'name' }, swatch(version.version), el('strong', {}, version.version), badge(stage)),
    svg('svg', { 'aria-hidden': true, focusable: 'false' }, ...bars, today),
    el(
      'div',
      { class: 'dates' },
      ...dated('Deprecation', deprecation, now, fromNow),
      // A retired version has no days left, whatever date was announced.
      ...dated('Sunset', sunset, now, retired ? fromNow : distance),
      ...undated(version),
    ),
  );
}

/**
 * @param {string} stage
 */
export function badge(stage) {
  return el('span', { class: `badge ${stage}` }, stages[stage] ?? stage);
}

/**
 * @param {string} name
 * @param {string|null} iso
 * @param {number} now
 * @param {(at: number, now: number) => string} away
 */
function dated(name, iso, now, away) {
  if (iso === null) return [];
  const at = instant(iso);
  return [
    el(
      'p',
      {},
      el('span', { class: 'soft' }, name),
      ' ',
      el('time', { datetime: iso }, date(at)),
      ' ',
      el('small', {}, away(at, now)),
    ),
  ];
}

/** @param {VersionStatus} version */
function undated({ deprecation, sunset, stage }) {
  if (deprecation === null && sunset === null)
    return [el('p', { class: 'soft' }, stage === 'active' ? 'No end date' : 'No dates')];
  return sunset === null ? [el('p', { class: 'soft' }, 'No sunset date')] : [];
}

function key() {
  const samples = [
    ['served', 'in service'],
    ['leaving', 'deprecated'],
    ['overdue', 'past its sunset, still served'],
  ];
  return el(
    'p',
    { class: 'key', 'aria-hidden': true },
    ...samples.map(([kind = '', text]) => el('span', {}, svg('svg', { focusable: 'false' }, bar(kind, 0, 100)), text)),
  );
}

/** @type {Record<string, number>} */
const heights = { track: 1, served: 8, leaving: 5, overdue: 2 };

/**
 * The parts differ in height too, not by colour alone.
 * @param {string} kind
 * @param {number} from
 * @param {number} to
 */
function bar(kind, from, to) {
  const height = heights[kind] ?? 1;
  return to > from && svg('rect', { class: kind, x: `${from}%`, y: 14 - height / 2, width: `${to - from}%`, height });
}

/** @param {string|null} iso */
const instant = (iso) => (iso === null ? Number.NaN : Date.parse(iso));
/** @param {string|null} iso */
const finite = (iso) => (iso === null ? Number.POSITIVE_INFINITY : Date.parse(iso));
