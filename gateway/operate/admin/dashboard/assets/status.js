import { triggerTexts } from './attention.js';
import { compareVersions, el, emptyMessage, fact, swatch, timeAgo } from './dom.js';
import { ago, dateTime, milliseconds, percent, period, plural, rate, withCommas } from './format.js';
import { showPeriod } from './periodChoice.js';
import { head, row, table, updateRows } from './table.js';

/** @import { Status, Target, Traffic, VersionRates, VersionStatus } from './types.js' */

const backendTitles = ['Backend', 'Version', 'Health', 'In flight', 'Connections', 'Version last served'];
const numericTitles = new Set(['In flight', 'Connections']);

/** The table of backends and their health. `fill` updates the rows; the table keeps its scroll position. */
export function backends() {
  const body = el('tbody');
  const frame = table(
    'Backends',
    backendTitles.map((title) => head(title, { number: numericTitles.has(title) })),
    body,
  );
  const emptyNotice = emptyMessage('No backend is configured.');
  return {
    root: el('div', {}, emptyNotice, frame),
    /**
     * @param {readonly VersionStatus[]} versions
     * @param {number} now
     */
    fill(versions, now) {
      const rows = versions.flatMap((version) => version.targets.map((target) => backendRow(version, target, now)));
      emptyNotice.hidden = rows.length > 0;
      frame.hidden = rows.length === 0;
      updateRows(body, rows);
    },
  };
}

/**
 * @param {VersionStatus} version
 * @param {Target} target
 * @param {number} now
 */
function backendRow({ version, last_served: lastServed }, target, now) {
  const cells = [
    el('code', { class: 'url' }, target.url),
    [swatch(version), ' ', version],
    [health(target, now), lastError(target, now)],
    withCommas(target.in_flight),
    withCommas(target.connections),
    timeAgo(lastServed, now),
  ];
  return row(
    `${version} ${target.url}`,
    cells.map((content, index) => {
      const title = backendTitles[index] ?? '';
      return { title, number: numericTitles.has(title), content };
    }),
  );
}

/**
 * @param {Target} target
 * @param {number} now
 */
function lastError({ health: state, last_error: error, last_error_at: at = null }, now) {
  // The error is kept after the target has recovered.
  const past = state === 'healthy' && 'Last error: ';
  return error && el('small', {}, past, error, at !== null && ' · ', at !== null && timeAgo(at, now));
}

/**
 * @param {Target} target
 * @param {number} now
 */
function health({ health: state, failing_since: since = null, ejected_until: until }, now) {
  if (state === 'not tried') return el('span', { class: 'state silent' }, 'Not tried yet');
  if (state === 'healthy') return el('span', { class: 'state good' }, 'Healthy');
  if (state === 'removed') return el('span', { class: 'state between' }, 'Removed');
  if (state === 'failing')
    return el(
      'span',
      { class: 'state bad' },
      since === null ? 'Failing' : `Failing since ${dateTime(Date.parse(since))}`,
    );
  const secondsLeft = until === null ? 0 : Math.max(0, Math.ceil((Date.parse(until) - now) / 1_000));
  return el('span', { class: 'state between' }, secondsLeft > 0 ? `Ejected for ${secondsLeft} s` : 'Ejected');
}

/** The table of requests per second, error shares and latencies by version. */
export function rates() {
  const body = el('tbody');
  const titles = ['Requests/s', 'Errors (5xx)', 'p50', 'p99'];
  const frame = table(
    'Rate and latency by version',
    [head('Version'), ...titles.map((title) => head(title, { number: true }))],
    body,
  );
  const note = el('p', { class: 'soft' });
  const emptyNotice = emptyMessage('No request since the gateway started.');
  return {
    root: el('div', {}, emptyNotice, frame, note),
    /** @param {Traffic|null|undefined} traffic */
    fill(traffic) {
      const versions = traffic?.versions ?? [];
      emptyNotice.hidden = versions.length > 0;
      frame.hidden = note.hidden = versions.length === 0;
      const span = period(traffic?.span_ms ?? 0);
      showPeriod('rates', versions.length === 0 ? '' : `last ${span}`);
      note.textContent = `Average over the last ${span}, all worker processes together. p50 and p99 are estimated from a histogram that excludes event streams and WebSockets.`;
      updateRows(
        body,
        versions.toSorted(byApiAndMajor).map((one) => ratesRow(one, titles)),
      );
    },
  };
}

/**
 * @param {VersionRates} rates
 * @param {readonly string[]} titles
 */
function ratesRow({ version, requests_per_second: perSecond, error_share: errors, p50_ms: p50, p99_ms: p99 }, titles) {
  const hasVersion = version !== 'unknown';
  const values = [rate(perSecond), errors === null ? '–' : percent(errors), milliseconds(p50), milliseconds(p99)];
  return row(version, [
    { title: 'Version', content: [swatch(hasVersion ? version : ''), ' ', hasVersion ? version : 'no version'] },
    ...values.map((content, index) => ({ title: titles[index] ?? '', number: true, content })),
  ]);
}

/**
 * The versions of the API at the root first, the requests without a version last.
 * @param {VersionRates} a @param {VersionRates} b
 */
function byApiAndMajor({ version: a }, { version: b }) {
  if (a === 'unknown' || b === 'unknown') return a === b ? 0 : a === 'unknown' ? 1 : -1;
  return compareVersions(a, b);
}

/** Whether more requests are lost since an edit. @type {Record<string, string>} */
const lossInWords = { yes: 'Loses requests', no: 'As before', 'not known': 'Not known' };

/**
/**
 * Which gateway this is, its active configuration, what became of the requests since the last edit, and the worker processes.
 * @param {Status} status
 * @param {number} now
 */
export function gatewayFacts({ gateway, config, workers, edit_watch: watches = [] }, now) {
  return el(
    'dl',
    { class: 'facts' },
    gateway &&
      fact('Gateway', gateway.name, [gateway.admin, gateway.file].filter((text) => text !== '').join(', with ')),
    fact('Configuration', `Generation ${withCommas(config.generation)}`, config.fingerprint.slice(0, 12)),
    fact('In effect since', dateTime(Date.parse(config.loaded_at)), triggerTexts[config.trigger] ?? config.trigger),
    ...watches.map((watch) =>
      fact(
        `/${watch.version} since the edit`,
        watch.state === 'recovered' ? 'As before again' : (lossInWords[watch.jumped] ?? watch.jumped),
        watch.text,
      ),
    ),
    fact(
      'Workers',
      plural(workers.length, 'process', 'processes'),
      workers.map(({ pid, since }) => `${pid}, started ${ago(since, now)}`).join(' · '),
    ),
  );
}
