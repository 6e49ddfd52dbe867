import { ApiError, getJson, LatestRequest, ledgerTimeoutMs, Retry, usageUrl } from './api.js';
import { chart } from './chart.js';
import { byId, colorOf, compareVersions, el, emptyMessage, errorNotice, swatch } from './dom.js';
import { date, dateTime, dayMs, percent, withCommas } from './format.js';

/** @import { Period } from './periodChoice.js' */
/** @import { Day, Usage } from './types.js' */

/** The section with the traffic of all versions over the period of the page. */
export class TrafficSection {
  #period;
  /** One gateway of a fleet; '': all. */
  #gateway;
  /** The URL of the data that the chart shows; '' without a chart. */
  #drawnUrl = '';
  #request = new LatestRequest(ledgerTimeoutMs);
  #retry = new Retry(() => void this.refresh());
  #removeChart = () => {};

  /**
   * @param {string} gateway
   * @param {Period} period
   */
  constructor(gateway, period) {
    this.#gateway = gateway;
    this.#period = period;
  }

  /** Shown by the next `refresh`. @param {Period} period */
  setPeriod(period) {
    this.#period = period;
  }

  /** @param {string} gateway */
  setGateway(gateway) {
    this.#gateway = gateway;
    void this.refresh();
  }

  async refresh() {
    const [period, gateway, container] = [this.#period, this.#gateway, byId('traffic')];
    const request = this.#request.start();
    const step = gateway === '' ? stepOf(period) : 'day';
    const url = usageUrl({ by: 'day', step, since: period.since, ...(gateway !== '' && { instance: gateway }) });
    container.ariaBusy = String(url !== this.#drawnUrl);
    // Do not redraw while the pointer is over the chart.
    if (url === this.#drawnUrl && container.querySelector('.u-over:hover')) return;
    try {
      /** @type {Usage<'day'>} */
      const usage = await getJson(url, request.signal);
      if (request.isOutdated) return;
      this.#removeChart();
      this.#removeChart = drawTraffic(container, usage, step);
      this.#drawnUrl = url;
      this.#retry.succeeded();
    } catch (error) {
      if (request.isOutdated) return;
      this.#retry.failed(error);
      // Keep the old chart while the gateway does not answer; the page header shows that the connection is lost.
      if (this.#drawnUrl === url && !(error instanceof ApiError)) return;
      this.#drawnUrl = '';
      this.#removeChart();
      this.#removeChart = () => {};
      container.replaceChildren(errorNotice(error));
    } finally {
      if (!request.isOutdated) container.ariaBusy = 'false';
    }
  }
}

/** Short periods have too few days for a chart. @param {Period} period */
const stepOf = ({ ms }) => (ms <= 7 * dayMs ? 'hour' : 'day');

/**
 * A stacked chart of the requests to every version.
 * @param {HTMLElement} container
 * @param {Usage<'day'>} usage
 * @param {'hour'|'day'} step
 * @returns {() => void} removes the chart
 */
function drawTraffic(container, usage, step) {
  const versionNames = [...new Set(usage.rows.map(({ version }) => version))].sort(compareVersions);
  if (versionNames.length === 0) {
    container.replaceChildren(
      emptyMessage('No requests in this period.', 'Versions appear here when clients call them.'),
    );
    return () => {};
  }
  const { times, counts } = countsByStep(usage, versionNames, step);
  const firstRecorded = firstRecordedStep(usage, times);
  // Without the last value, which only repeats the last step.
  const totals = counts.map((row) => row.slice(0, -1).reduce((sum, one) => sum + one, 0));
  const grandTotal = totals.reduce((sum, one) => sum + one, 0);
  const valueElements = versionNames.map((_name, index) =>
    el('span', { class: 'value' }, amount(totals[index] ?? 0, grandTotal)),
  );
  const when = el('p', { class: 'soft when' });
  const legend = el(
    'ul',
    { class: 'legend' },
    ...versionNames.map((name, index) =>
      el('li', {}, swatch(name), el('span', {}, name || 'no version'), valueElements[index]),
    ),
  );
  /** @param {number|null} hovered the index of the step under the pointer; null: the totals are shown */
  const show = (hovered) => {
    const column = hovered === null || hovered < firstRecorded ? undefined : counts.map((row) => row[hovered] ?? 0);
    const sum = column?.reduce((one, other) => one + other, 0) ?? 0;
    versionNames.forEach((_name, index) => {
      valueElements[index]?.replaceChildren(
        column ? withCommas(column[index] ?? 0) : amount(totals[index] ?? 0, grandTotal),
      );
    });
    const format = step === 'hour' ? dateTime : date;
    const start = format((times[hovered ?? 0] ?? 0) * 1_000);
    if (hovered !== null && hovered < firstRecorded) when.textContent = `${start}: not recorded`;
    else when.textContent = column ? `${start}: ${withCommas(sum)}` : summary(usage, grandTotal, step);
  };
  const canvas = el('div', {
    class: 'chart',
    role: 'img',
    'aria-label': `Requests by version: ${versionNames.map((name, index) => `${name || 'no version'} ${withCommas(totals[index] ?? 0)}`).join(', ')}`,
  });
  container.replaceChildren(legend, when, canvas);
  show(null);
  // The highest sums first: each lower area is painted over the higher ones.
  const paintOrder = versionNames.map((_name, index) => index).reverse();
  return chart(canvas, {
    data: [
      times,
      ...paintOrder.map((upTo) =>
        times.map((_time, index) =>
          index < firstRecorded ? null : counts.slice(0, upTo + 1).reduce((sum, row) => sum + (row[index] ?? 0), 0),
        ),
      ),
    ],
    series: paintOrder.map((index) => ({
      label: versionNames[index] ?? '',
      color: `--version-${colorOf(versionNames[index] ?? '')}`,
      fill: true,
      stepped: true,
    })),
    height: 260,
    hover: show,
    incomplete: incompleteSpans(usage, times),
    unrecorded: unrecordedTime(usage, times),
  });
}

/**
 * `times`: the start of each step, in seconds. `counts`: for each version, its requests in each step. The API omits steps without
 * requests; here they are 0.
 * @param {Usage<'day'>} usage
 * @param {readonly string[]} versionNames
 * @param {'hour'|'day'} step
 */
function countsByStep({ rows, since, until }, versionNames, step) {
  const stepMs = step === 'hour' ? 3_600_000 : 86_400_000;
  const start = Math.floor(Date.parse(since) / stepMs);
  const stepCount = Math.floor(Date.parse(until) / stepMs) - start + 1;
  // One more time than there are steps: the end of the last step. Its value repeats the last step, which is drawn up to there.
  const times = Array.from({ length: stepCount + 1 }, (_nothing, index) => ((start + index) * stepMs) / 1_000);
  const counts = versionNames.map(() => Array.from({ length: stepCount + 1 }, () => 0));
  for (const { version, at, requests } of rows) {
    const row = counts[versionNames.indexOf(version)];
    const column = Math.floor(Date.parse(at) / stepMs) - start;
    if (row && column >= 0 && column < stepCount) row[column] = requests;
  }
  for (const row of counts) row[stepCount] = row[stepCount - 1] ?? 0;
  return { times, counts };
}

/**
 * `1,200 · 40%`.
 * @param {number} requests
 * @param {number} total
 */
function amount(requests, total) {
  return total === 0 ? withCommas(requests) : `${withCommas(requests)} · ${percent(requests / total)}`;
}

/**
 * @param {{ since: string, counted_since: string|null }} usage
 * @param {number} total
 * @param {'hour'|'day'} step
 */
function summary({ since, counted_since: counted }, total, step) {
  const isPartlyRecorded = counted !== null && counted !== since;
  return `${withCommas(total)} requests since ${dateTime(Date.parse(isPartlyRecorded ? counted : since))}${isPartlyRecorded ? ', when recording began' : ''}. Pale bars are incomplete ${step}s.`;
}

/**
 * The first recorded step and the last step, if they are not recorded completely. Their counts are too low, and must not look like a decline.
 * @param {{ since: string, until: string, counted_since: string|null }} usage
 * @param {readonly number[]} times
 * @returns {(readonly [number, number])[]}
 */
function incompleteSpans({ since, until, counted_since: counted }, times) {
  const recordedFrom = Date.parse(counted ?? since) / 1_000;
  return times.slice(1).flatMap((end, index) => {
    const start = times[index] ?? end;
    const isIncomplete = (start < recordedFrom && recordedFrom < end) || Date.parse(until) / 1_000 < end;
    return isIncomplete ? [/** @type {const} */ ([start, end])] : [];
  });
}

/**
 * The index of the step in which recording started. Earlier steps have no data, although there may have been requests.
 * @param {{ counted_since: string|null }} usage
 * @param {readonly number[]} times
 */
function firstRecordedStep({ counted_since: counted }, times) {
  if (counted === null) return 0;
  const began = Date.parse(counted) / 1_000;
  return Math.max(
    0,
    times.findIndex((_start, index) => (times[index + 1] ?? Number.POSITIVE_INFINITY) > began),
  );
}

/**
 * @param {{ since: string, counted_since: string|null }} usage
 * @param {readonly number[]} times
 */
function unrecordedTime(usage, times) {
  const until = times[firstRecordedStep(usage, times)] ?? 0;
  const { counted_since: counted } = usage;
  if (counted === null || until <= (times[0] ?? 0)) return undefined;
  return { until, text: `Recorded since ${date(Date.parse(counted))}` };
}
