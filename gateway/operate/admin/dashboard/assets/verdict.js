import { chart } from './chart.js';
import { colorOf, el, emptyMessage, fact } from './dom.js';
import { date, dayMs, percent, period, plural, timeLeft, withCommas } from './format.js';
import { showPeriod } from './periodChoice.js';

/** @import { Day, Remark, Retirement, Successor, Trend } from './types.js' */

/**
 * Whether a version can be retired, and why. The details are in the tables and the chart beside it.
 * @param {Retirement} retirement
 */
export function verdict(retirement) {
  const { reasons, notes } = retirement;
  const [tone, answer] = headline(retirement);
  const reasonTexts = reasons.flatMap((reason) => sentence(reason, retirement));
  // `figures` shows the requests in flight; they need a sentence only as a reason.
  const noteTexts = notes.filter(({ code }) => code !== 'in_flight').flatMap((note) => sentence(note, retirement));
  return el(
    'div',
    {},
    el('p', { class: `answer ${tone}` }, answer),
    reasonTexts.length > 0 && list('reasons', reasonTexts),
    noteTexts.length > 0 && list('notes', noteTexts),
  );
}

/**
 * The figures behind the verdict.
 * @param {Retirement} retirement
 */
export function figures({ facts }) {
  const quiet = `last ${period(facts.quiet)}`;
  return el(
    'dl',
    { class: 'facts' },
    fact('Requests', withCommas(facts.requests), quiet),
    fact('Share', percent(facts.share), `of all, ${quiet}`),
    fact('Clients', clientCount(facts, withCommas), quiet),
    fact('In flight', withCommas(facts.in_flight ?? 0), 'now'),
    facts.successor && fact('Successor', facts.successor.version, successorHealth(facts.successor)),
  );
}

/** @param {Successor} successor */
function successorHealth({ targets, healthy, not_tried: notTried = 0 }) {
  if (targets > 0 && notTried === targets) return 'not tried yet';
  return `${healthy} of ${targets} healthy now${notTried > 0 ? `, ${notTried} not tried yet` : ''}`;
}

/**
 * The number of clients; `At least 3` if some are counted together as other clients.
 * @param {Retirement['facts']} facts
 * @param {(count: number) => string} inWords
 */
function clientCount({ client_count: count, folded }, inWords) {
  return folded === 0 ? inWords(count) : `At least ${inWords(Math.max(1, count))}`;
}

/**
 * @param {Retirement} retirement
 * @returns {readonly [tone: string, answer: string]}
 */
function headline({ version, answer, facts }) {
  // The reason below says who called the retired version, and in which period.
  if (facts.stage === 'retired') {
    if (answer === 'yes') return ['yes', `Yes, the tombstone of ${version} may be removed.`];
    if (answer === 'not known')
      return ['not-yet', `It is not known whether the tombstone of ${version} may be removed.`];
    return ['not-yet', `Keep the tombstone of ${version}.`];
  }
  if (answer === 'yes') return ['yes', `Yes, ${version} can be retired.`];
  if (answer === 'not yet') return ['not-yet', `Not yet: keep ${version} running.`];
  return ['no', `No: ${version} is still in use.`];
}

/**
 * The text for a remark, by its code. For an unknown code the text of the gateway is used.
 * @param {Remark} remark
 * @param {Retirement} retirement
 * @returns {readonly string[]} empty if another part of the page shows it
 */
function sentence({ code, text }, { version, facts, asked_at: now }) {
  const quiet = `the last ${period(facts.quiet)}`;
  const clients = clientCount(facts, (count) => plural(count, 'client'));
  switch (code) {
    case 'trend':
    case 'no_counterpart':
    case 'missing_in_successor':
      return [];
    case 'no_sunset':
      return [`No sunset date is set, so clients do not know when ${version} ends.`];
    case 'sunset_ahead': {
      const at = Date.parse(facts.sunset ?? now);
      return [`The sunset is ${date(at)}: ${timeLeft(at, Date.parse(now))}.`];
    }
    case 'ledger_empty':
      return ['The usage ledger is empty.'];
    case 'clients_left':
      return [
        `${clients} made ${plural(facts.requests, 'request')} in ${quiet}, ${percent(facts.share)} of all requests (the quiet period).`,
      ];
    case 'below_max_share':
      return [
        `${clients} made ${percent(facts.share)} of all requests in ${quiet}. retire.max_share allows this share. Retiring ${version} cuts off these clients.`,
      ];
    case 'nobody_left':
      return [`No client has called ${version} in ${quiet}.`];
    default:
      return [text];
  }
}

/**
 * @param {string} name
 * @param {readonly string[]} sentences
 */
function list(name, sentences) {
  return el('ul', { class: name }, ...sentences.map((text) => el('li', {}, text)));
}

/** The projection is drawn for at most this many times the recorded period. */
const maxProjectionRatio = 2;

/**
 * A chart of the requests to a version per day, with a projection to zero.
 * @param {HTMLElement} container
 * @param {string} version
 * @param {Trend} trend
 * @returns {() => void} removes the chart
 */
export function drawTrend(container, version, trend) {
  const { days } = trend;
  showPeriod('trend', days.length === 0 ? '' : `last ${completeDays(days)}`);
  if (days.length === 0) return noDays(container);
  if (trend.kind === 'none' && days.every(({ requests }) => requests === 0)) {
    container.replaceChildren(emptyMessage(`No requests to ${version} in the recorded days.`));
    return () => {};
  }
  const canvas = daysCanvas(`Requests to ${version} per day`, days);
  container.replaceChildren(
    el('p', { class: 'big' }, trendText(trend)),
    el('p', { class: 'soft' }, trendDetail(trend)),
    canvas,
  );
  const recordedTimes = days.map(({ at }) => Date.parse(at));
  // The projection begins at the last recorded day, and adds one point after it.
  const [start, end] = projection(trend, recordedTimes);
  const times = [...recordedTimes, ...(end ? [end.at] : [])].map((at) => at / 1_000);
  const recorded = [...days.map(({ requests }) => requests), ...(end ? [null] : [])];
  const projected = [...days.slice(1).map(() => null), start?.requests ?? null, ...(end ? [end.requests] : [])];
  return chart(canvas, {
    data: [times, recorded, projected],
    series: [
      { label: 'requests', color: `--version-${colorOf(version)}` },
      { label: 'projected', color: '--soft', dashed: true },
    ],
    height: 220,
  });
}

/**
 * A chart of the requests to a version per day through one gateway of a fleet. It has no trend, because a trend depends on the
 * clients, and clients are counted only for the whole fleet.
 * @param {HTMLElement} container
 * @param {string} version
 * @param {string} gateway
 * @param {readonly Day[]} shownDays the days to show
 * @param {readonly Day[]} rows the requests; days without requests may be missing
 * @returns {() => void} removes the chart
 */
export function drawGatewayDays(container, version, gateway, shownDays, rows) {
  showPeriod('trend', shownDays.length === 0 ? '' : `last ${completeDays(shownDays)}`);
  if (shownDays.length === 0) return noDays(container);
  const requestsByTime = new Map(rows.map((one) => [Date.parse(one.at), one.requests]));
  const days = shownDays.map(({ at }) => ({ at, requests: requestsByTime.get(Date.parse(at)) ?? 0 }));
  const sum = days.reduce((total, one) => total + one.requests, 0);
  const canvas = daysCanvas(`Requests to ${version} through ${gateway} per day`, days);
  container.replaceChildren(
    el('p', { class: 'big' }, `${plural(sum, 'request')} in the last ${completeDays(days)}.`),
    el('p', { class: 'soft' }, 'Failed requests and requests of ignored clients are included.'),
    canvas,
  );
  const data = [days.map(({ at }) => Date.parse(at) / 1_000), days.map((one) => one.requests)];
  const series = [{ label: 'requests', color: `--version-${colorOf(version)}` }];
  return chart(canvas, { data, series, height: 220 });
}

/** @param {HTMLElement} container */
function noDays(container) {
  container.replaceChildren(
    emptyMessage('No complete day has been recorded yet.', 'A trend needs at least two weeks.'),
  );
  return () => {};
}

/**
 * @param {string} title
 * @param {readonly Day[]} days
 */
function daysCanvas(title, days) {
  const label = `${title}: ${days.map(({ requests }) => requests).join(', ')}`;
  return el('div', { class: 'chart', role: 'img', 'aria-label': label });
}

/**
 * The line from the last recorded day down to zero, or its visible part.
 * @param {Trend} trend
 * @param {readonly number[]} recordedTimes
 */
function projection({ zero, per_day: perDay, days }, recordedTimes) {
  const lastDay = recordedTimes.at(-1) ?? 0;
  const zeroAt = zero === null ? 0 : Date.parse(zero);
  if (zeroAt <= lastDay || perDay === null) return [];
  const recordedMs = Math.max(7 * dayMs, lastDay - (recordedTimes[0] ?? lastDay));
  const visibleEnd = Math.min(zeroAt, lastDay + maxProjectionRatio * recordedMs);
  // If the end was postponed because of the usual pauses of clients, the line falls less than `per_day`.
  const lastWeek = days.slice(-7);
  const average = lastWeek.reduce((sum, { requests }) => sum + requests, 0) / lastWeek.length;
  const start = Math.min((-perDay * (zeroAt - lastDay)) / dayMs, average);
  return [lastDay, visibleEnd].map((at) => ({ at, requests: (start * (zeroAt - at)) / (zeroAt - lastDay) }));
}

/** @param {Trend} trend */
function trendText({ kind, zero, pausing }) {
  if (pausing) return `Falling, but ${pausingClients(pausing)}, so no end can be predicted.`;
  if (kind === 'falling')
    return zero === null
      ? 'Falling, but more slowly each week.'
      : `Falling: zero on ${date(Date.parse(zero))} at this rate.`;
  if (kind === 'not falling') return 'Not falling.';
  if (kind === 'not clear') return 'Fewer requests than in the week before. The trend is not clear yet.';
  if (kind === 'none') return 'No request in the last seven days.';
  return 'Not enough days for a trend.';
}

/**
 * `12 clients call every 6 to 10 days`
 * @param {NonNullable<Trend['pausing']>} pausing
 */
function pausingClients({ count, shortest_pause: shortest, longest_pause: longest }) {
  const [from, to] = [Math.round(shortest / dayMs), Math.round(longest / dayMs)];
  const clients = plural(count, 'client calls', 'clients call');
  return `${clients} every ${from === to ? '' : `${from} to `}${plural(to, 'day')}`;
}

/** @param {Trend} trend */
function trendDetail({ per_day: perDay, pausing, days }) {
  if (perDay === null) return `Based on the last ${completeDays(days)}.`;
  const decrease = Math.abs(perDay) < 1 ? 'less than one request' : `about ${withCommas(Math.round(-perDay))} requests`;
  const then = pausing
    ? ` Even if none of these clients calls again, their silence means nothing before ${date(Date.parse(pausing.expected_until))}.`
    : '';
  return `A decrease of ${decrease} per day, over the last three weeks.${then}`;
}

/** @param {readonly Day[]} days */
function completeDays(days) {
  return plural(days.length, 'complete day');
}
