import { ApiError, getJson, LatestRequest, ledgerTimeoutMs } from './api.js';
import { byId, el, errorNotice, fact, timeAgo } from './dom.js';
import { date, withCommas } from './format.js';
import { showPeriod } from './periodChoice.js';
import { sortable } from './table.js';

/** @import { DifferenceReport, DriftReport, ResponseDifference, UndeclaredProperty } from './types.js' */

/** For each class of differences: its name in the report, its label, and the CSS class of its mark; the most important first. */
const classes = /** @type {const} */ ([
  ['undeclared', 'Undeclared', 'bad'],
  ['declared', 'Declared', 'good'],
  ['noise', 'Noise', 'silent'],
  ['no evidence', 'No evidence', 'silent'],
]);

/** How the responses of a version differ from those of the version that gets copies of its requests. */
export const shadowCard = () =>
  new ComparisonCard('shadow', (/** @type {DifferenceReport} */ { to }) => to !== null, shadowContent);

/** Which parts of the responses of a version its contract does not declare. */
export const driftCard = () =>
  new ComparisonCard('drift', (/** @type {DriftReport} */ { responses }) => responses > 0, driftContent);

/**
 * A report on compared responses. Hidden for a version without evidence.
 * @template {{ asked_at: string, first: string|null }} Report
 */
class ComparisonCard {
  #request = new LatestRequest(ledgerTimeoutMs);
  #drawnData = '';
  #kind;
  #hasEvidence;
  #content;

  /**
   * @param {'shadow' | 'drift'} kind
   * @param {(report: Report) => boolean} hasEvidence - without evidence, the card is hidden
   * @param {(report: Report) => HTMLElement} content
   */
  constructor(kind, hasEvidence, content) {
    this.#kind = kind;
    this.#hasEvidence = hasEvidence;
    this.#content = content;
  }

  clear() {
    // Aborts an open request: its response is about another version.
    this.#request.start();
    this.#drawnData = '';
    byId(`${this.#kind}-card`).hidden = true;
  }

  /** @param {string} version */
  async refresh(version) {
    const request = this.#request.start();
    try {
      /** @type {Report} */
      const report = await getJson(`/api/${this.#kind}/${encodeURIComponent(version)}`, request.signal);
      if (!request.isOutdated) this.#draw(report);
    } catch (error) {
      if (request.isOutdated || !(error instanceof ApiError)) return;
      this.#drawnData = '';
      byId(this.#kind).replaceChildren(errorNotice(error));
    }
  }

  /** @param {Report} report */
  #draw(report) {
    // The table shows times relative to `asked_at`. If nothing else changes, it is redrawn once a minute. `used_since` is left out,
    // because it changes with `asked_at`.
    const minute = Math.floor(Date.parse(report.asked_at) / 60_000);
    const json = JSON.stringify({ ...report, asked_at: minute, used_since: '' });
    const isShown = this.#hasEvidence(report);
    byId(`${this.#kind}-card`).hidden = !isShown;
    if (json === this.#drawnData || !isShown) return;
    this.#drawnData = json;
    showPeriod(this.#kind, report.first === null ? '' : `since ${date(Date.parse(report.first))}`);
    byId(this.#kind).replaceChildren(this.#content(report));
  }
}

/** @param {DifferenceReport} report */
function shadowContent({
  summary,
  notes,
  counts,
  pairs,
  route_count: routeCount,
  routes,
  not_compared: notCompared,
  asked_at: now,
}) {
  const rows = routes.flatMap(({ route, differences }) => differences.map((one) => ({ ...one, route })));
  const differenceCount = routes.reduce((sum, route) => sum + route.difference_count, 0);
  const unseenCount = routes.reduce((sum, route) => sum + route.unseen_count, 0);
  const table = differenceTable(Date.parse(now));
  table.fill(rows);
  return el(
    'div',
    { class: 'shadow' },
    el('p', { class: 'summary' }, summary),
    notes.length > 0 && el('ul', { class: 'notes' }, ...notes.map((text) => el('li', {}, text))),
    el(
      'dl',
      { class: 'facts' },
      fact('Undeclared', withCommas(counts.undeclared), ''),
      fact('Declared', withCommas(counts.declared), ''),
      fact('Noise', withCommas(counts.noise), ''),
      fact('No evidence', withCommas(counts.no_evidence), `${withCommas(unseenCount)} fields never seen`),
      fact('Pairs', withCommas(pairs), `on ${withCommas(routeCount)} ${routeCount === 1 ? 'route' : 'routes'}`),
    ),
    rows.length > 0 && table.root,
    differenceCount > rows.length &&
      el(
        'p',
        { class: 'soft' },
        `${withCommas(rows.length)} of ${withCommas(differenceCount)} differences are listed.`,
      ),
    notCompared.length > 0 &&
      el(
        'p',
        { class: 'soft' },
        `In use and never compared: ${notCompared.slice(0, 10).join(', ')}${notCompared.length > 10 ? ' and more' : ''}.`,
      ),
  );
}

/** @param {number} now */
function differenceTable(now) {
  /** @param {ResponseDifference} one */
  const rank = (one) => classes.length - classes.findIndex(([name]) => name === one.class);
  /** @type {readonly import('./table.js').Column<ResponseDifference>[]} */
  const columns = [
    {
      title: 'Field',
      sort: (one) => `${one.route} ${one.path}`,
      cell: (one) => el('span', { class: 'client' }, placeOf(one), el('small', {}, one.route)),
    },
    {
      title: 'Class',
      sort: rank,
      cell: (one) => {
        const [, label, style] = classes.find(([name]) => name === one.class) ?? ['', one.class, ''];
        return el('span', { class: `state ${style}` }, label);
      },
    },
    {
      title: 'Difference',
      sort: ({ what }) => what,
      cell: ({ what, detail, why }) =>
        el(
          'span',
          { class: 'client' },
          detail === '' ? what : `${what}: ${detail.replace(' → ', ' to ')}`,
          el('small', {}, why),
        ),
    },
    {
      title: 'Pairs',
      number: true,
      sort: (one) => one.count,
      cell: (one) => `${withCommas(one.count)} of ${withCommas(one.pairs)}`,
    },
    {
      title: 'Last',
      number: true,
      sort: ({ last }) => Date.parse(last),
      cell: ({ last }) => timeAgo(last, now),
    },
  ];
  return sortable('Differences between the responses', columns, {
    sortedBy: 'Class',
    keyOf: (one) => [one.route, one.status, one.path, one.what, one.detail].join(' '),
  });
}

/** @param {DriftReport} report */
function driftContent({ summary, notes, routes, finding_count: findingCount, asked_at: now }) {
  const rows = routes.flatMap(({ route, responses, findings }) =>
    findings.map((one) => ({ ...one, route, responses })),
  );
  const table = findingTable(Date.parse(now));
  table.fill(rows);
  return el(
    'div',
    { class: 'shadow' },
    el('p', { class: 'summary' }, summary),
    notes.length > 0 && el('ul', { class: 'notes' }, ...notes.map((text) => el('li', {}, text))),
    rows.length > 0 && table.root,
    findingCount > rows.length &&
      el('p', { class: 'soft' }, `${withCommas(rows.length)} of ${withCommas(findingCount)} findings are listed.`),
  );
}

/** @param {number} now */
function findingTable(now) {
  /** @type {readonly import('./table.js').Column<UndeclaredProperty>[]} */
  const columns = [
    {
      title: 'Field',
      sort: (one) => `${one.route} ${one.path}`,
      cell: (one) => el('span', { class: 'client' }, placeOf(one), el('small', {}, one.route)),
    },
    {
      title: 'Status',
      sort: ({ status }) => status,
      cell: ({ status }) => (status === 0 ? '' : String(status)),
    },
    {
      title: 'Not declared',
      sort: ({ what }) => what,
      cell: ({ what, detail }) => (detail === '' ? what : `${what}: ${detail}`),
    },
    {
      title: 'Responses',
      number: true,
      sort: (one) => one.count,
      cell: (one) => `${withCommas(one.count)} of ${withCommas(one.responses)}`,
    },
    {
      title: 'Last',
      number: true,
      sort: ({ last }) => Date.parse(last),
      cell: ({ last }) => timeAgo(last, now),
    },
  ];
  return sortable('What the contract does not declare', columns, {
    sortedBy: 'Responses',
    keyOf: (one) => [one.route, one.status, one.path, one.what, one.detail].join(' '),
  });
}

/**
 * The place of a difference. `status`: of the response; 0: the difference is in the status itself.
 * @param {{ path: string, status: number }} one
 */
function placeOf({ path, status }) {
  if (path !== '') return path;
  return status === 0 ? 'status' : 'body';
}
