import { el, empty } from './dom.js';
import { milliseconds, percent, period, rate } from './format.js';
import { redraw } from './rows.js';
import { swatch } from './swatch.js';
import { head, row, table } from './table.js';

/** @import { Traffic, VersionRates } from './shapes.js' */

/** Requests per second, error share and latencies of each version. */
export function rates() {
  const body = el('tbody');
  const titles = ['Requests/s', 'Errors (5xx)', 'p50', 'p99'];
  const frame = table(
    'Rate and latency by version',
    [head('Version'), ...titles.map((title) => head(title, { number: true }))],
    body,
  );
  const span = el('p', { class: 'soft' });
  const nothing = empty('No request since the gateway started.');
  return {
    root: el('div', {}, nothing, frame, span),
    /** @param {Traffic|null|undefined} traffic */
    fill(traffic) {
      const versions = traffic?.versions ?? [];
      nothing.hidden = versions.length > 0;
      frame.hidden = span.hidden = versions.length === 0;
      span.textContent = `Average over ${period(traffic?.span_ms ?? 0)}, all worker processes together. p50 and p99 are estimated from a histogram without event streams and WebSockets.`;
      redraw(
        body,
        versions.toSorted((a, b) => major(a) - major(b)).map((one) => rowOf(one, titles)),
      );
    },
  };
}

/**
 * @param {VersionRates} rates
 * @param {readonly string[]} titles
 */
function rowOf({ version, requests_per_second: perSecond, error_share: errors, p50_ms: p50, p99_ms: p99 }, titles) {
  const known = version !== 'unknown';
  const values = [rate(perSecond), errors === null ? '–' : percent(errors), milliseconds(p50), milliseconds(p99)];
  return row(version, [
    { title: 'Version', content: [swatch(known ? version : ''), ' ', known ? version : 'no version'] },
    ...values.map((content, index) => ({ title: titles[index] ?? '', number: true, content })),
  ]);
}

/** @param {VersionRates} rates */
const major = ({ version }) => (version === 'unknown' ? Number.POSITIVE_INFINITY : Number(version.slice(1)));
