import { ask, Refused, usage } from './api.js';
import { clients } from './clients.js';
import { decline } from './decline.js';
import { el, empty, place } from './dom.js';
import { Latest } from './latest.js';
import { remarks } from './ledger.js';
import { routes } from './routes.js';
import { segmented } from './segmented.js';
import { trouble } from './trouble.js';
import { figures, verdict } from './verdict.js';

/** @import { ClientRow, Retirement, RouteRow, Usage, VersionStatus } from './shapes.js' */

/** Who is on the way out first comes first. */
const urgency = ['sunset', 'deprecated', 'announced', 'active', 'retired'];

const parts = ['verdict', 'decline', 'clients', 'routes'];

/** Everything about the one version that the operator has in mind to retire. */
export class Retiring {
  /** @type {string|undefined} */
  #names;
  #latest = new Latest();
  #latestClients = new Latest();
  #latestRoutes = new Latest();
  #version = '';
  #remove = () => {};
  #drawn = '';
  /** @type {ReturnType<typeof clients>|undefined} */
  #clients;
  /** @type {ReturnType<typeof routes>|undefined} */
  #routes;

  /** @param {readonly VersionStatus[]} all */
  versions(all) {
    // Of what was removed from the file nobody can say whether it may go: it went.
    const versions = all.filter(({ stage }) => stage !== 'removed');
    const names = versions.map(({ version }) => version);
    if (this.#names === names.join()) return;
    this.#names = names.join();
    const asked = location.hash.slice(1);
    const first = urgency.flatMap((stage) => versions.filter((one) => one.stage === stage))[0]?.version ?? '';
    const chosen = [this.#version, asked].find((name) => names.includes(name)) ?? first;
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
    place('h-retire').textContent = version === '' ? 'Retiring a version' : `Retiring ${version}`;
    place('h-clients').textContent = `Clients still on ${version}`;
    for (const id of parts) place(id).replaceChildren(el('p', { class: 'waiting' }, 'Loading…'));
    if (version === '') for (const id of parts) place(id).replaceChildren(empty('No version is configured.'));
    else void this.refresh();
  }

  async refresh() {
    const version = this.#version;
    if (version === '') return;
    const question = this.#latest.begin();
    try {
      // First and alone: it is what the reader came for, and a large ledger answers one question after the other.
      /** @type {Retirement} */
      const retirement = await ask(`/api/versions/${encodeURIComponent(version)}/retirement`, question.signal);
      if (question.isOver) return;
      this.#judge(retirement);
      this.#begin(retirement);
      await this.#listClients();
      if (!question.isOver) await this.#listRoutes(retirement);
    } catch (error) {
      if (question.isOver) return;
      // What was known stays while the gateway is away; the head of the page says that it is old.
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
    place('verdict').replaceChildren(verdict(retirement));
    const course = el('div');
    place('decline').replaceChildren(course, figures(retirement));
    this.#remove = decline(course, retirement.version, retirement.facts.trend);
    this.#drawn = said;
  }

  /** @param {Retirement} retirement */
  #begin({ version, facts }) {
    this.#clients ??= clients(version, facts.successor?.version, () => void this.#listClients());
    this.#routes ??= routes(version);
  }

  /** Those that the reader wants to see. */
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
      // What was drawn stays until it can be asked for again.
      if (!question.isOver && !table.root.isConnected) place('clients').replaceChildren(trouble(error));
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
      table.fill(rows, facts.routes_without_counterpart, facts.successor, Date.parse(until));
      if (!table.root.isConnected) place('routes').replaceChildren(table.root);
    } catch (error) {
      if (!question.isOver && !table?.root.isConnected) place('routes').replaceChildren(trouble(error));
    }
  }

  #clear() {
    this.#remove();
    this.#remove = () => {};
    this.#clients = this.#routes = undefined;
    this.#drawn = '';
  }
}
