import { type EvidenceKind, type EvidenceRow, otherRoute } from '../usage/usageRow.ts';
import { ResponseComparer } from './compare.ts';
import { ContractResponses } from './responses.ts';
import type { ResponsePair } from './sample.ts';
import { declaredAt, type Observation } from './shapes.ts';

// What is collected between two calls of `take`. Further properties are not counted until then.
const mostRows = 20_000;
// Routes with a status that are remembered.
const mostBegun = 20_000;
// Routes that the contract does not list and that are counted by name. Those that both versions only answered with 404 have
// their own limit: the number of the other ones, and at least 50.
const mostFound = 1_000;
const fewestMissing = 50;

/** Two versions whose responses are compared. */
export interface ComparedVersions {
  /** `v1` */
  readonly version: string;
  /** `v2`. For an adapter and for drift, whose responses have to satisfy the contract of `version`: `version` itself. */
  readonly to: string;
  /** See `evidenceHash` of evidence.ts. */
  readonly hash: string;
  /** The contracts of `version` and of `to`, absolute paths; undefined: none. */
  readonly contract: string | undefined;
  readonly toContract: string | undefined;
}

/** Counts what the pairs of two versions have in common and what not. Keeps no values, and of every pair only its counts. */
export class EvidenceCollector {
  readonly #versions: ComparedVersions;
  readonly #old: ContractResponses;
  readonly #comparer: ResponseComparer;
  #rows = new Map<string, EvidenceRow>();
  /** The routes and statuses whose listed fields were added. */
  readonly #begun = new Set<string>();
  /** The routes of the new version, by route of the old one. */
  readonly #routes = new Map<string, string | undefined>();
  /** The named routes that the contract does not list: those that both versions have only answered 404, and the others. */
  readonly #missing = new Set<string>();
  readonly #found = new Set<string>();

  constructor(versions: ComparedVersions, old: ContractResponses, now: ContractResponses) {
    this.#versions = versions;
    this.#old = old;
    this.#comparer = new ResponseComparer(old, now);
  }

  /** Reads the contracts. One that cannot be read counts as missing. */
  static async open(versions: ComparedVersions): Promise<EvidenceCollector> {
    const { version, to, contract, toContract } = versions;
    const old = await ContractResponses.read(contract, version);
    const now = to === version ? old : await ContractResponses.read(toContract, to);
    return new EvidenceCollector(versions, old, now);
  }

  add(given: ResponsePair): void {
    const pair = this.#isNamed(given)
      ? this.#withRoute(given)
      : { ...given, template: otherRoute, toTemplate: undefined };
    const observations = this.#comparer.compare(pair);
    for (const one of observations) this.#count(pair, one);
    if (observations.some(({ what, detail }) => what === 'pair' && detail === 'body')) this.#begin(pair);
  }

  /** The counts since the last call. */
  take(): EvidenceRow[] {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    return rows;
  }

  /** Whether a route is counted by its name. Without a limit, paths that clients make up would fill the evidence. */
  #isNamed({ method, template, old, new: now = old }: ResponsePair): boolean {
    if (this.#old.of(method, template, old.status, '').hasRoute) return true;
    const route = `${method} ${template}`;
    if (this.#found.has(route)) return true;
    const isMissing = old.status === 404 && now.status === 404;
    if (isMissing && this.#missing.has(route)) return true;
    const [routes, most] = isMissing
      ? [this.#missing, Math.max(fewestMissing, this.#found.size)]
      : [this.#found, mostFound];
    if (routes.size >= most) return false;
    this.#missing.delete(route);
    routes.add(route);
    return true;
  }

  /** The responses of a control are judged like those of the shadow, by the route of the new version. */
  #withRoute(pair: ResponsePair): ResponsePair {
    const key = `${pair.method} ${pair.template}`;
    if (pair.kind === 'control') return { ...pair, toTemplate: this.#routes.get(key) ?? pair.toTemplate };
    if (this.#routes.size < mostBegun) this.#routes.set(key, pair.toTemplate);
    return pair;
  }

  #count({ kind, method, template, at }: ResponsePair, observation: Observation): void {
    const row = this.#rowOf(kind, template === otherRoute ? otherRoute : `${method} ${template}`, observation, at);
    if (row === undefined) return;
    const { old, new: now } = observation;
    row.pairs += 1;
    if (old > now) row.oldMore += 1;
    if (now > old) row.newMore += 1;
    row.oldShare += old;
    // Of a single response it counts whether it has the property anywhere.
    row.newShare += kind === 'drift' && now > 0 ? 1 : now;
    row.first = Math.min(row.first, at);
    row.last = Math.max(row.last, at);
  }

  /** Adds a row without pairs for each field that the old contract lists, so that a report knows which were never compared. */
  #begin(pair: ResponsePair): void {
    const { kind, method, template, old, at } = pair;
    const key = `${kind} ${method} ${template} ${old.status}`;
    if (kind === 'control' || this.#begun.size >= mostBegun || this.#begun.has(key)) return;
    this.#begun.add(key);
    for (const path of this.#comparer.listedPaths(pair)) {
      if (path.old !== 'required' && path.old !== 'optional') continue;
      const shape = {
        status: old.status,
        path: path.text,
        what: 'value',
        detail: '',
        declares: declaredAt(path),
      } as const;
      this.#rowOf(kind, `${method} ${template}`, { ...shape, old: 0, new: 0 }, at);
    }
  }

  #rowOf(kind: EvidenceKind, route: string, one: Observation, at: number): EvidenceRow | undefined {
    const { status, path, what, detail, declares } = one;
    const key = [kind, route, status, path, what, detail].join('\0');
    const known = this.#rows.get(key);
    if (known || this.#rows.size >= mostRows) return known;
    const { version, to, hash } = this.#versions;
    const counts = { pairs: 0, oldMore: 0, newMore: 0, oldShare: 0, newShare: 0, first: at, last: at };
    const row = { version, to, kind, hash, route, status, path, what, detail, declares, ...counts };
    this.#rows.set(key, row);
    return row;
  }
}
