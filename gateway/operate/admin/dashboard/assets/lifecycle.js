import { windowLabel } from './brownoutWindows.js';
import { el, emptyMessage, svg, swatch } from './dom.js';
import { date, dayMs, fromNow, plural, timeLeft } from './format.js';

/** @import { BrownoutWindow, VersionStatus } from './types.js' */

/** @type {Record<string, string>} */
const stages = {
  active: 'Active',
  announced: 'Deprecation announced',
  deprecated: 'Deprecated',
  sunset: 'Past its sunset',
  retired: 'Retired',
  removed: 'Removed',
};

// The positions of the first and the last date on the axis, in per cent.
const [firstPosition, lastPosition] = [8, 92];

/**
 * The lifecycle of every version as a bar on a common time axis.
 * @param {readonly VersionStatus[]} versions
 * @param {readonly BrownoutWindow[]} brownouts
 * @param {number} now
 */
export function lifecycle(versions, brownouts, now) {
  if (versions.length === 0) return emptyMessage('No version is configured.');
  const dates = [
    ...versions.flatMap(({ deprecation, sunset }) => [deprecation, sunset]),
    ...brownouts.flatMap(({ at, until }) => [at, until]),
  ]
    .map(instantOrNaN)
    .filter(Number.isFinite);
  const from = Math.min(now - 90 * dayMs, ...dates);
  const to = Math.max(now + 90 * dayMs, ...dates);
  /** @param {number} at */
  const positionOf = (at) =>
    Math.max(0, Math.min(100, firstPosition + ((at - from) / (to - from)) * (lastPosition - firstPosition)));
  return el(
    'div',
    { class: 'lifecycle' },
    el(
      'div',
      { class: 'lifecycle-row axis', 'aria-hidden': true },
      el('span'),
      axis(from, to, now, positionOf),
      el('span'),
    ),
    el(
      'ol',
      {},
      ...versions.toReversed().map((one) => {
        const windows = brownouts.filter(({ version }) => version === one.version);
        return row(one, windows, now, positionOf);
      }),
    ),
    legend(brownouts),
  );
}

/**
 * @param {VersionStatus} version
 * @param {readonly BrownoutWindow[]} windows its brownouts
 * @param {number} now
 * @param {(at: number) => number} positionOf
 */
function row(version, windows, now, positionOf) {
  const { stage, deprecation, sunset } = version;
  const isRetired = stage === 'retired' || stage === 'removed';
  const end = isRetired ? Math.min(instantOrInfinity(sunset), now) : Number.POSITIVE_INFINITY;
  const deprecationPosition = positionOf(Math.min(instantOrInfinity(deprecation), end));
  const sunsetPosition = positionOf(Math.min(instantOrInfinity(sunset), end));
  const endPosition = positionOf(end);
  const bars = [
    bar('track', 0, 100),
    bar('in-service', 0, deprecationPosition),
    bar('ending', deprecationPosition, sunsetPosition),
    bar('overdue', sunsetPosition, endPosition),
    // The future is paler: its dates may still change.
    svg('rect', { class: 'future', x: `${positionOf(now)}%`, y: 0, width: `${100 - positionOf(now)}%`, height: 28 }),
  ];
  const today = svg('line', { class: 'today', x1: `${positionOf(now)}%`, x2: `${positionOf(now)}%`, y1: 0, y2: 28 });
  return el(
    'li',
    { class: 'lifecycle-row' },
    el('div', { class: 'name' }, swatch(version.version), el('strong', {}, version.version), badge(stage)),
    svg('svg', { 'aria-hidden': true, focusable: 'false' }, ...bars, today),
    windows.length > 0 && windowMarks(version.version, windows, positionOf),
    el(
      'div',
      { class: 'dates' },
      ...dateLine('Deprecation', deprecation, now, fromNow),
      // A retired version has no days left, whatever date was announced.
      ...dateLine('Sunset', sunset, now, isRetired ? fromNow : timeLeft),
      ...missingDates(version),
      ...adapterLines(version),
    ),
  );
}

/**
 * The marks of the brownouts, over the bar of their version. They have no visible labels: a brownout lasts hours on an axis of
 * months, so labels would overlap. A mark is at least 5 px wide, and hollow if the brownout refuses no client.
 * @param {string} version
 * @param {readonly BrownoutWindow[]} windows
 * @param {(at: number) => number} positionOf
 */
function windowMarks(version, windows, positionOf) {
  return svg(
    'svg',
    { class: 'windows', role: 'group', 'aria-label': `Brownouts of ${version}`, focusable: 'false' },
    ...windows.map((one) => {
      const label = windowLabel(one);
      const kind = isOff(one) ? 'brownout off' : 'brownout';
      const from = positionOf(Date.parse(one.at));
      const width = `max(5px, ${positionOf(Date.parse(one.until)) - from}%)`;
      const mark = svg('rect', { class: kind, role: 'img', 'aria-label': label, x: `${from}%`, y: 3, height: 22 });
      mark.style.width = width;
      mark.append(svg('title', {}, label));
      return mark;
    }),
  );
}

/** @param {string} stage */
function badge(stage) {
  return el('span', { class: `badge ${stage}` }, stages[stage] ?? stage);
}

/**
 * @param {string} name
 * @param {string|null} iso
 * @param {number} now
 * @param {(at: number, now: number) => string} relative
 */
function dateLine(name, iso, now, relative) {
  if (iso === null) return [];
  const at = Date.parse(iso);
  return [
    el(
      'p',
      {},
      el('span', { class: 'soft' }, name),
      ' ',
      el('time', { datetime: iso }, date(at)),
      ' ',
      el('small', {}, relative(at, now)),
    ),
  ];
}

/** @param {VersionStatus} version */
function missingDates({ deprecation, sunset, stage }) {
  if (deprecation === null && sunset === null)
    return [el('p', { class: 'soft' }, stage === 'active' ? 'No end date' : 'No dates')];
  return sunset === null ? [el('p', { class: 'soft' }, 'No sunset date')] : [];
}

/** @param {VersionStatus} version */
function adapterLines({ adapter }) {
  if (adapter?.mode !== 'serve') return [];
  const { from, not_adapted: refused = 0 } = adapter;
  const lines = [`Served from ${from} by an adapter`];
  if (refused > 0) lines.push(`${plural(refused, 'request')} to other routes since the adapter was loaded: 410`);
  return lines.map((text) => el('p', { class: 'soft' }, text));
}

/** @param {readonly BrownoutWindow[]} brownouts */
function legend(brownouts) {
  const samples = [
    ['in-service', 'in service'],
    ['ending', 'deprecated'],
    ['overdue', 'past its sunset, still served'],
  ];
  return el(
    'p',
    { class: 'key', 'aria-hidden': true },
    ...samples.map(([kind = '', text]) => el('span', {}, svg('svg', { focusable: 'false' }, bar(kind, 0, 100)), text)),
    brownouts.length > 0 && el('span', {}, markSample('brownout'), 'brownout'),
    brownouts.some(isOff) && el('span', {}, markSample('brownout off'), 'brownout skipped, stopped or missed'),
  );
}

/** @param {BrownoutWindow} one */
const isOff = ({ state }) => ['skipped', 'stopped', 'missed'].includes(state);

/** @param {string} kind */
const markSample = (kind) =>
  svg('svg', { focusable: 'false' }, svg('rect', { class: kind, x: 8, y: 3, width: 5, height: 22 }));

/** @type {Record<string, number>} */
const heights = { track: 1, 'in-service': 8, ending: 5, overdue: 2 };

/**
 * A part of a bar. The parts also differ in height, because some readers cannot distinguish the colours.
 * @param {string} kind
 * @param {number} from
 * @param {number} to
 */
function bar(kind, from, to) {
  const height = heights[kind] ?? 1;
  return to > from && svg('rect', { class: kind, x: `${from}%`, y: 14 - height / 2, width: `${to - from}%`, height });
}

/** @param {string|null} iso */
const instantOrNaN = (iso) => (iso === null ? Number.NaN : Date.parse(iso));
/** @param {string|null} iso */
const instantOrInfinity = (iso) => (iso === null ? Number.POSITIVE_INFINITY : Date.parse(iso));

/**
 * The axis, with years, quarters or months, and today's date.
 * @param {number} from
 * @param {number} to
 * @param {number} now
 * @param {(at: number) => number} positionOf
 */
function axis(from, to, now, positionOf) {
  // There is room for five labels.
  const minMonthsPerTick = Math.ceil((to - from) / (30.4 * dayMs) / 5);
  const monthsPerTick = [1, 3, 6, 12, 24, 60].find((one) => one >= minMonthsPerTick) ?? 120;
  const start = new Date(from);
  const ticks = [];
  for (let month = 0; ; month += monthsPerTick) {
    const year = start.getUTCFullYear();
    const at = monthsPerTick < 12 ? Date.UTC(year, month, 1) : Date.UTC(year + month / 12, 0, 1);
    if (at > to) break;
    if (at >= from) ticks.push(at);
  }
  return svg(
    'svg',
    { focusable: 'false' },
    svg(
      'text',
      { class: 'now', x: `${positionOf(now)}%`, y: 12, 'text-anchor': anchor(positionOf(now)) },
      `today, ${date(now)}`,
    ),
    svg('line', { class: 'today', x1: `${positionOf(now)}%`, x2: `${positionOf(now)}%`, y1: 18, y2: 38 }),
    ...ticks.map((at) =>
      svg('line', { class: 'tick', x1: `${positionOf(at)}%`, x2: `${positionOf(at)}%`, y1: 34, y2: 38 }),
    ),
    // A year right beside today's line could be read as the date of that line.
    ...ticks
      .filter((at) => Math.abs(positionOf(at) - positionOf(now)) > 7)
      .map((at) => svg('text', { x: `${positionOf(at)}%`, y: 30, 'text-anchor': 'middle' }, label(at, monthsPerTick))),
  );
}

/** Keeps a label within the edges. @param {number} position in per cent */
const anchor = (position) => (position > 80 ? 'end' : position < 20 ? 'start' : 'middle');

/**
 * @param {number} at
 * @param {number} monthsPerTick
 */
function label(at, monthsPerTick) {
  return monthsPerTick < 12 ? date(at).slice(2) : String(new Date(at).getUTCFullYear());
}
