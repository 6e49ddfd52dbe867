import { ask, Refused, usage } from './api.js';
import { clients } from './clients.js';
import { decline } from './decline.js';
import { el, empty, place } from './dom.js';
import { Latest, ledgerPatience } from './latest.js';
import { remarks } from './ledger.js';
import { Naming } from './naming.js';
import { Retry } from './retry.js';
import { routes } from './routes.js';
import { segmented } from './segmented.js';
import { trouble } from './trouble.js';
import { figures, verdict } from './verdict.js';

/** @import { ClientRow, Retirement, RouteRow, Usage, VersionStatus, VersionTotal } from './shapes.js' */

/** A version in one of these stages is on its way out; the first one is the most urgent. */
const leaving = ['sunset', 'deprecated', 'announced'];

const parts = ['verdict', 'decline', 'clients', 'routes'];

/** The part of the page about the retirement of one version. */
export class Retiring {
  /** @type {string|undefined} */
  #names;
  #latest = new Latest(ledgerPatience);
  #latestClients = new Latest(ledgerPatience);
  #latestRoutes = new Latest(ledgerPatience);
  #retry = new Retry(() => void this.refresh());
  #naming = new Naming(() => void this.#listClients());
  #version = '';
  #stage = '';
  #remove = () => {};
  #drawn = '';
  /** @type {ReturnType<typeof clients>|undefined} */
  #clients;
  /** @type {ReturnType<typeof routes>|undefined} */
  #routes;

  /** @param {string} by what admitted this browser */
  access(by) {
    this.#naming.access(by);
    this.#clients?.draw();
  }

  /** @param {readonly VersionStatus[]} all */
  async versions(all) {
    // A version that was removed from the file has no retirement any more.
    const versions = all.filter(({ stage }) => stage !== 'removed');
    const names = versions.map(({ version }) => version);
    if (this.#names === names.join()) return;
    this.#names = names.join();
    const asked = location.hash.slice(1);
    const chosen = [this.#version, asked].find((name) => names.includes(name)) ?? (await firstOf(versions));
    // Another status arrived in the meantime.
    if (this.#names !== names.join()) return;
    const options = names.map((name) => /** @type {const} */ ([name, name]));
    place('picker').replaceChildren(segmented('version', 'Version', options, chosen, (name) => this.#choose(name)));
    this.#choose(chosen);
  }

  /** @param {string} version */
  #choose(version) {
    this.#version = version;
    this.#clients = this.#routes = undefined;
    this.#drawn = '';
    history.replaceState(null, '', `#${version}`);
    place('h-retire').textContent = version === '' ? 'Retirement' : `Retirement of ${version}`;
    place('h-clients').textContent = `Clients that call ${version}`;
    for (const id of parts) place(id).replaceChildren(el('p', { class: 'waiting' }, 'Loading…'));
    if (version === '') for (const id of parts) place(id).replaceChildren(empty('No version is configured.'));
    else void this.refresh();
  }

  async refresh() {
    const version = this.#version;
    if (version === '') return;
    const question = this.#latest.begin();
    try {
      // First and alone: it is the most important answer, and the ledger answers one question at a time.
      /** @type {Retirement} */
      const retirement = await ask(`/api/versions/${encodeURIComponent(version)}/retirement`, question.signal);
      if (question.isOver) return;
      this.#retry.worked();
      this.#judge(retirement);
      this.#begin(retirement);
      await this.#listClients();
      if (!question.isOver) await this.#listRoutes(retirement);
    } catch (error) {
      if (question.isOver) return;
      this.#retry.failed(error);
      // Old figures stay while the gateway does not answer; the head of the page says that they are old.
      if (this.#drawn !== '' && !(error instanceof Refused)) return;
      this.#clear();
      place('verdict').replaceChildren(trouble(error));
      for (const id of ['decline', 'clients', 'routes']) place(id).replaceChildren(empty('Not known.'));
    }
  }

  /** @param {Retirement} retirement */
  #judge(retirement) {
    const said = JSON.stringify([retirement.answer, retirement.reasons, retirement.notes, retirement.facts]);
    if (said === this.#drawn) return;
    this.#remove();
    const isRetired = retirement.facts.stage === 'retired';
    place('h-verdict').textContent = isRetired ? 'After the retirement' : 'Can it be retired?';
    place('h-clients').textContent = `Clients that ${isRetired ? 'still call' : 'call'} ${retirement.version}`;
    place('verdict').replaceChildren(verdict(retirement), figures(retirement));
    this.#remove = decline(place('decline'), retirement.version, retirement.facts.trend);
    this.#drawn = said;
  }

  /** @param {Retirement} retirement */
  #begin({ version, facts: { stage, successor } }) {
    // The columns of a retired version are others.
    if (stage !== this.#stage) this.#clients = undefined;
    this.#stage = stage;
    this.#clients ??= clients(
      version,
      successor?.version,
      stage === 'retired',
      () => void this.#listClients(),
      (client) => this.#naming.button(client),
    );
    this.#routes ??= routes(version);
  }

  async #listClients() {
    const table = this.#clients;
    if (!table) return;
    const question = this.#latestClients.begin();
    try {
      /** @type {Usage<ClientRow>} */
      const answer = await ask(table.wanted, question.signal);
      if (question.isOver || table !== this.#clients) return;
      table.fill(answer, remarks(answer));
      if (!table.root.isConnected) place('clients').replaceChildren(table.root);
    } catch (error) {
      if (question.isOver) return;
      this.#retry.failed(error);
      if (!table.root.isConnected) place('clients').replaceChildren(trouble(error));
    }
  }

  /** @param {Retirement} retirement */
  async #listRoutes({ version, facts }) {
    const table = this.#routes;
    const question = this.#latestRoutes.begin();
    try {
      /** @type {Usage<RouteRow>} */
      const { rows, until } = await ask(usage({ by: 'route', version }), question.signal);
      if (question.isOver || !table || table !== this.#routes) return;
      table.fill(rows, facts, Date.parse(until));
      if (!table.root.isConnected) place('routes').replaceChildren(table.root);
    } catch (error) {
      if (question.isOver) return;
      this.#retry.failed(error);
      if (!table?.root.isConnected) place('routes').replaceChildren(trouble(error));
    }
  }

  #clear() {
    this.#remove();
    this.#remove = () => {};
    this.#clients = this.#routes = undefined;
    this.#drawn = '';
  }
}

/**
 * The version to open with: the next one to be retired; else the retired one that was called last; else the oldest.
 * @param {readonly VersionStatus[]} versions lowest first
 */
async function firstOf(versions) {
  const [next] = leaving.flatMap((stage) => versions.filter((one) => one.stage === stage));
  if (next) return next.version;
  const retired = versions.filter(({ stage }) => stage === 'retired').map(({ version }) => version);
  if (retired.length < 2) return retired[0] ?? versions[0]?.version ?? '';
  try {
    /** @type {Usage<VersionTotal>} */
    const { rows } = await ask(usage({ by: 'version', since: '30d' }), AbortSignal.timeout(ledgerPatience));
    const called = rows.filter(({ version }) => retired.includes(version));
    const [last] = called.toSorted((a, b) => Date.parse(b.last) - Date.parse(a.last));
    return last?.version ?? retired.at(-1) ?? '';
  } catch {
    return retired.at(-1) ?? '';
  }
}
