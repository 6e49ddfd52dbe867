import { ask, Refused, usage } from './api.js';
import { callers } from './callers.js';
import { clients } from './clients.js';
import { decline } from './decline.js';
import { el, empty, place } from './dom.js';
import { Latest } from './latest.js';
import { remarks } from './ledger.js';
import { routes } from './routes.js';
import { segmented } from './segmented.js';
import { trouble } from './trouble.js';
import { figures, verdict } from './verdict.js';

/** @import { ClientRow, MigrationRow, Retirement, RouteRow, Usage, VersionStatus } from './shapes.js' */

/** Who is on the way out first comes first. */
const urgency = ['sunset', 'deprecated', 'announced', 'active', 'retired'];

const parts = ['verdict', 'decline', 'clients', 'routes'];

/** Everything about the one version that the operator has in mind to retire. */
export class Retiring {
  /** @type {string|undefined} */
  #names;
  #latest = new Latest();
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
    const { signal } = question;
    try {
      const [retirement, byClient, byRoute] = await Promise.all([
        /** @type {Promise<Retirement>} */ (ask(`/api/versions/${encodeURIComponent(version)}/retirement`, signal)),
        /** @type {Promise<Usage<ClientRow>>} */ (ask(usage({ by: 'client', version }), signal)),
        /** @type {Promise<Usage<RouteRow>>} */ (ask(usage({ by: 'route', version }), signal)),
      ]);
      /** @type {Usage<MigrationRow>|undefined} */
      const moves = retirement.facts.successor ? await ask(usage({ by: 'migration', version }), signal) : undefined;
      if (question.isOver) return;
      this.#judge(retirement);
      this.#list(retirement, callers(byClient.rows, moves?.rows ?? []), byRoute, remarks(byClient));
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

  /**
   * @param {Retirement} retirement
   * @param {ReturnType<typeof callers>} rows
   * @param {Usage<RouteRow>} byRoute
   * @param {readonly Node[]} said of the clients by the ledger itself
   */
  #list({ version, facts }, rows, byRoute, said) {
    const now = Date.parse(byRoute.until);
    if (!this.#clients || !this.#routes) {
      this.#clients = clients(version, facts.successor?.version);
      this.#routes = routes(version);
      place('clients').replaceChildren(this.#clients.root);
      place('routes').replaceChildren(this.#routes.root);
    }
    this.#clients.fill(rows, now, said);
    this.#routes.fill(byRoute.rows, facts.routes_without_counterpart, facts.successor, now);
  }

  #clear() {
    this.#remove();
    this.#remove = () => {};
    this.#clients = this.#routes = undefined;
    this.#drawn = '';
  }
}
