import { ApiError, getJson, LatestRequest, ledgerTimeoutMs, post, Retry, usageUrl } from './api.js';
import { BrownoutCard } from './brownout.js';
import { clients, NameDialog } from './clients.js';
import { byId, el, emptyMessage, errorNotice, segmented } from './dom.js';
import { period as periodInWords } from './format.js';
import { showPeriod } from './periodChoice.js';
import { planSummary } from './plan.js';
import { routes } from './routes.js';
import { driftCard, shadowCard } from './shadow.js';
import { drawGatewayDays, drawTrend, figures, verdict } from './verdict.js';

/** @import { Period } from './periodChoice.js' */
/** @import { ClientRow, Day, Retirement, RouteRow, Usage, VersionStatus } from './types.js' */

/** The stages of a version that will be retired, most urgent first. */
const endingStages = ['sunset', 'deprecated', 'announced'];

const partIds = ['verdict', 'trend', 'plan', 'clients', 'routes'];

/** The section about the retirement of one version. */
export class RetirementSection {
  /** The names of the versions in the picker, joined; undefined: the picker is not drawn yet. @type {string|undefined} */
  #drawnNames;
  #verdictRequest = new LatestRequest(ledgerTimeoutMs);
  #clientsRequest = new LatestRequest(ledgerTimeoutMs);
  #routesRequest = new LatestRequest(ledgerTimeoutMs);
  #planRequest = new LatestRequest(ledgerTimeoutMs);
  #retry = new Retry(() => void this.refresh());
  #brownouts = new BrownoutCard();
  #comparisons = [shadowCard(), driftCard()];
  #nameDialog = new NameDialog(() => void this.#listClients());
  #version = '';
  /** The stage of the version and its successor when `#clients` was created. */
  #stageAndSuccessor = '';
  /** The gateway of a fleet whose requests per day are shown; '': all. */
  #gateway;
  #period;
  #onQuiet;
  #removeTrend = () => {};
  #drawnData = '';
  /** @type {ReturnType<typeof clients>|undefined} */
  #clients;
  /** @type {ReturnType<typeof routes>|undefined} */
  #routes;

  /**
   * @param {string} gateway
   * @param {Period} period
   * @param {(quietMs: number) => void} onQuiet called with the quiet period of each verdict
   */
  constructor(gateway, period, onQuiet) {
    this.#gateway = gateway;
    this.#period = period;
    this.#onQuiet = onQuiet;
  }

  /** Shown by the next `refresh`. @param {Period} period */
  setPeriod(period) {
    this.#period = period;
  }

  /** @param {string} by how this browser is authorized */
  setAccess(by) {
    this.#nameDialog.setAccess(by);
    this.#clients?.draw();
  }

  /** @param {readonly VersionStatus[]} allVersions */
  async setVersions(allVersions) {
    // This section is only about the versions in routes.yaml.
    const versions = allVersions.filter(({ stage }) => stage !== 'removed');
    const names = versions.map(({ version }) => version);
    if (this.#drawnNames === names.join()) return;
    this.#drawnNames = names.join();
    const fromUrl = location.hash.slice(1);
    const chosen = [this.#version, fromUrl].find((name) => names.includes(name)) ?? (await firstVersion(versions));
    // Another status has arrived in the meantime.
    if (this.#drawnNames !== names.join()) return;
    const options = names.map((name) => /** @type {const} */ ([name, name]));
    byId('picker').replaceChildren(segmented('version', 'Version', options, chosen, (name) => this.#choose(name)));
    this.#choose(chosen);
  }

  /** @param {string} version */
  #choose(version) {
    this.#version = version;
    this.#clients = this.#routes = undefined;
    this.#drawnData = '';
    this.#brownouts.clear();
    for (const card of this.#comparisons) card.clear();
    history.replaceState(null, '', `#${version}`);
    byId('h-retire').textContent = version === '' ? 'Retirement' : `Retirement of ${version}`;
    byId('h-clients').textContent = `Clients that call ${version}`;
    for (const id of partIds) byId(id).replaceChildren(el('p', { class: 'waiting' }, 'Loading…'));
    if (version === '') for (const id of partIds) byId(id).replaceChildren(emptyMessage('No version is configured.'));
    else void this.refresh();
  }

  /** @param {string} gateway */
  setGateway(gateway) {
    this.#gateway = gateway;
    void this.refresh();
  }

  async refresh() {
    const version = this.#version;
    if (version === '') return;
    const request = this.#verdictRequest.start();
    try {
      // Requested first and alone: it is the most important response, and the ledger runs one query at a time.
      /** @type {Retirement} */
      const retirement = await getJson(`/api/versions/${encodeURIComponent(version)}/retirement`, request.signal);
      if (request.isOutdated) return;
      this.#retry.succeeded();
      this.#drawVerdict(retirement);
      this.#onQuiet(retirement.facts.quiet);
      // The page has another period now, and this section was refreshed.
      if (request.isOutdated) return;
      this.#createTables(retirement);
      if (this.#gateway !== '') await this.#drawDays(retirement, request);
      if (request.isOutdated) return;
      await this.#listClients();
      if (!request.isOutdated) await this.#listRoutes(retirement);
      if (!request.isOutdated && retirement.facts.stage !== 'retired') await this.#drawPlan(version);
      if (!request.isOutdated) await this.#brownouts.refresh(version);
      for (const card of this.#comparisons) if (!request.isOutdated) await card.refresh(version);
    } catch (error) {
      if (request.isOutdated) return;
      this.#retry.failed(error);
      // Keep the old figures while the gateway does not answer; the page header shows that the connection is lost.
      if (this.#drawnData !== '' && !(error instanceof ApiError)) return;
      this.#clear();
      byId('verdict').replaceChildren(errorNotice(error));
      for (const id of ['trend', 'plan', 'clients', 'routes']) byId(id).replaceChildren(emptyMessage('Not available.'));
    }
  }

  /** @param {Retirement} retirement */
  #drawVerdict(retirement) {
    const data = JSON.stringify([
      this.#gateway,
      retirement.answer,
      retirement.reasons,
      retirement.notes,
      retirement.facts,
    ]);
    if (data === this.#drawnData) return;
    this.#removeTrend();
    const isRetired = retirement.facts.stage === 'retired';
    byId('h-verdict').textContent = isRetired ? 'After the retirement' : 'Can it be retired?';
    byId('plan-card').hidden = isRetired;
    if (isRetired) byId('plan').replaceChildren();
    byId('h-clients').textContent = `Clients that ${isRetired ? 'still call' : 'call'} ${retirement.version}`;
    showPeriod('quiet', `quiet period: last ${periodInWords(retirement.facts.quiet)}`);
    byId('verdict').replaceChildren(verdict(retirement), figures(retirement));
    this.#removeTrend = () => {};
    this.#drawnData = data;
    if (this.#gateway === '') this.#removeTrend = drawTrend(byId('trend'), retirement.version, retirement.facts.trend);
  }

  /**
   * The requests per day to the selected gateway, in place of the trend of the fleet.
   * @param {Retirement} retirement
   * @param {ReturnType<LatestRequest['start']>} request
   */
  async #drawDays({ version, facts }, request) {
    const gateway = this.#gateway;
    try {
      /** @type {Usage<'day'>} */
      const { rows } = await getJson(usageUrl({ by: 'day', version, instance: gateway, since: '31d' }), request.signal);
      if (request.isOutdated) return;
      this.#removeTrend();
      this.#removeTrend = drawGatewayDays(byId('trend'), version, gateway, facts.trend.days, rows);
    } catch (error) {
      if (request.isOutdated) return;
      this.#retry.failed(error);
      if (!(error instanceof ApiError)) return;
      this.#removeTrend();
      this.#removeTrend = () => {};
      byId('trend').replaceChildren(errorNotice(error));
    }
  }

  /** @param {Retirement} retirement */
  #createTables({ version, facts: { stage, successor } }) {
    // A retired version has other columns, and the states of clients name the successor.
    const stageAndSuccessor = `${stage} ${successor?.version}`;
    if (stageAndSuccessor !== this.#stageAndSuccessor) this.#clients = undefined;
    this.#stageAndSuccessor = stageAndSuccessor;
    this.#clients ??= clients(
      version,
      successor?.version,
      stage === 'retired',
      () => void this.#listClients(),
      (client) => this.#nameDialog.button(client),
    );
    this.#routes ??= routes(version);
  }

  async #listClients() {
    const table = this.#clients;
    if (!table) return;
    const request = this.#clientsRequest.start();
    try {
      const period = this.#period;
      /** @type {Usage<'client'>} */
      const usage = await getJson(table.url(period), request.signal);
      if (request.isOutdated || table !== this.#clients) return;
      table.fill(usage, period);
      if (!table.root.isConnected) byId('clients').replaceChildren(table.root);
    } catch (error) {
      if (request.isOutdated) return;
      this.#retry.failed(error);
      if (!table.root.isConnected) byId('clients').replaceChildren(errorNotice(error));
    }
  }

  /** @param {Retirement} retirement */
  async #listRoutes({ version, facts }) {
    const table = this.#routes;
    const request = this.#routesRequest.start();
    try {
      const period = this.#period;
      const url = usageUrl({ by: 'route', version, since: period.since });
      /** @type {Usage<'route'>} */
      const { rows, until } = await getJson(url, request.signal);
      if (request.isOutdated || !table || table !== this.#routes) return;
      table.fill(rows, facts, Date.parse(until), period);
      if (!table.root.isConnected) byId('routes').replaceChildren(table.root);
    } catch (error) {
      if (request.isOutdated) return;
      this.#retry.failed(error);
      if (!table?.root.isConnected) byId('routes').replaceChildren(errorNotice(error));
    }
  }

  /** @param {string} version */
  async #drawPlan(version) {
    const [request, period] = [this.#planRequest.start(), this.#period];
    try {
      const { status, body } = await post('/api/plan', { retire: version, since: period.since }, request.signal);
      if (request.isOutdated) return;
      if (status !== 200) throw new ApiError(status, body);
      byId('plan').replaceChildren(planSummary(body, period.words));
    } catch (error) {
      if (request.isOutdated) return;
      this.#retry.failed(error);
      if (error instanceof ApiError || byId('plan').querySelector('.plan') === null)
        byId('plan').replaceChildren(errorNotice(error));
    }
  }

  #clear() {
    this.#removeTrend();
    this.#removeTrend = () => {};
    this.#clients = this.#routes = undefined;
    this.#drawnData = '';
  }
}

/**
 * The version to show first: the next one to retire. If there is none, the retired version with the latest request. If no version
 * is retired, the lowest.
 * @param {readonly VersionStatus[]} versions lowest first
 */
async function firstVersion(versions) {
  const [next] = endingStages.flatMap((stage) => versions.filter((one) => one.stage === stage));
  if (next) return next.version;
  const retired = versions.filter(({ stage }) => stage === 'retired').map(({ version }) => version);
  if (retired.length < 2) return retired[0] ?? versions[0]?.version ?? '';
  try {
    /** @type {Usage<'version'>} */
    const { rows } = await getJson(usageUrl({ by: 'version', since: '30d' }), AbortSignal.timeout(ledgerTimeoutMs));
    const called = rows.filter(({ version }) => retired.includes(version));
    const [latest] = called.toSorted((a, b) => (b.last ?? '').localeCompare(a.last ?? ''));
    return latest?.version ?? retired.at(-1) ?? '';
  } catch {
    return retired.at(-1) ?? '';
  }
}
