import { catchingStackOverflow } from '../../../contract/failure.ts';
import { type EvidenceKind, type EvidenceRow, otherRoute } from '../../../usage/usageRow.ts';
import { ResponseComparer } from './compare.ts';
import { unreadableContract } from './evidence.ts';
import { ContractResponses } from './responses.ts';
import type { ResponsePair } from './sample.ts';
import type { Observation } from './shapes.ts';

// Rows that are counted between two calls of `take`. Further observations are ignored until the next call.
const maxRows = 20_000;
// Entries of `#withListedFields` and of `#newTemplates`.
const maxRemembered = 20_000;
// Routes that the contract does not list and that a version has answered with another status than 404. Further ones are not counted
// by name.
const maxUnlistedFound = 1_000;
// Of the routes that the contract does not list and that were only answered 404, at most as many are counted by name as routes above
// were found, or this many if that is more.
const leastUnlistedMissingLimit = 50;

/** Two versions whose responses are compared. */
export interface ComparedVersions {
  /** `v1` */
  readonly version: string;
  /** `v2`. The same as `version` for an adapter and for drift, because their responses have to satisfy the contract of `version`. */
  readonly to: string;
  /** The hash of both contracts and of the adapter. */
  readonly hash: string;
  /** The contracts of `version` and of `to`, absolute paths; undefined: none. */
  readonly contract: string | undefined;
  readonly toContract: string | undefined;
}

/** Counts the observations about the responses of two versions, and how often the two responses differ. It keeps no values. */
export class EvidenceCollector {
  readonly #versions: ComparedVersions;
  readonly #oldContract: ContractResponses;
  readonly #comparer: ResponseComparer;
  #rows = new Map<string, EvidenceRow>();
  /** The routes and statuses whose listed fields were added. */
  readonly #withListedFields = new Set<string>();
  /** `GET /drinks/{id}` in the old version → the path template in the new version. */
  readonly #newTemplates = new Map<string, string | undefined>();
  /** Routes that the contract does not list, counted by name: both versions have only answered 404. */
  readonly #unlistedMissing = new Set<string>();
  /** The other routes that the contract does not list, counted by name. */
  readonly #unlistedFound = new Set<string>();

  constructor(versions: ComparedVersions, oldContract: ContractResponses, newContract: ContractResponses) {
    this.#versions = versions;
    this.#oldContract = oldContract;
    this.#comparer = new ResponseComparer(oldContract, newContract);
  }

  /** Reads the contracts. One that cannot be read counts as missing. */
  static async open(versions: ComparedVersions): Promise<EvidenceCollector> {
    const { version, to, contract, toContract } = versions;
    const oldContract = await ContractResponses.read(contract, version);
    const newContract = to === version ? oldContract : await ContractResponses.read(toContract, to);
    return new EvidenceCollector(versions, oldContract, newContract);
  }

  /** False: the contract of `version` cannot be read, or is not OpenAPI 3. */
  get knowsContract(): boolean {
    return this.#oldContract.isKnown;
  }

  /** @throws CompareError for schemas nested too deeply */
  add(given: ResponsePair): void {
    const pair = this.#isCountedByName(given)
      ? this.#withNewTemplate(given)
      : { ...given, template: otherRoute, toTemplate: undefined };
    const hasNothingToCompare = pair.kind === 'drift' && !this.knowsContract;
    const observations = hasNothingToCompare
      ? [withoutContract(pair)]
      : catchingStackOverflow(`${pair.method} ${pair.template}`, () => this.#comparer.compare(pair));
    for (const one of observations) this.#count(pair, one);
    const areBodiesCompared = observations.some(({ what, detail }) => what === 'pair' && detail === 'body');
    if (areBodiesCompared) this.#addListedFields(pair);
  }

  /** The counts since the last call. */
  take(): EvidenceRow[] {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    return rows;
  }

  /** Whether a route is counted by its name. The limits keep paths that clients make up from filling the evidence. */
  #isCountedByName({ method, template, old, new: newResponse = old }: ResponsePair): boolean {
    const noMediaType = '';
    if (this.#oldContract.listedResponse(method, template, old.status, noMediaType).hasRoute) return true;
    const route = `${method} ${template}`;
    if (this.#unlistedFound.has(route)) return true;
    const isMissing = old.status === 404 && newResponse.status === 404;
    if (isMissing && this.#unlistedMissing.has(route)) return true;
    const [routes, most] = isMissing
      ? [this.#unlistedMissing, Math.max(leastUnlistedMissingLimit, this.#unlistedFound.size)]
      : [this.#unlistedFound, maxUnlistedFound];
    if (routes.size >= most) return false;
    this.#unlistedMissing.delete(route);
    routes.add(route);
    return true;
  }

  /**
   * A control pair has two responses of the old version. It gets the template of the new version, so that it is judged like a pair of
   * the shadow.
   */
  #withNewTemplate(pair: ResponsePair): ResponsePair {
    const key = `${pair.method} ${pair.template}`;
    if (pair.kind === 'control') return { ...pair, toTemplate: this.#newTemplates.get(key) ?? pair.toTemplate };
    if (this.#newTemplates.size < maxRemembered) this.#newTemplates.set(key, pair.toTemplate);
    return pair;
  }

  #count({ kind, method, template, at }: ResponsePair, observation: Observation): void {
    const row = this.#rowOf(kind, template === otherRoute ? otherRoute : `${method} ${template}`, observation, at);
    if (row === undefined) return;
    const { oldShare, newShare } = observation;
    row.pairs += 1;
    if (oldShare > newShare) row.oldMore += 1;
    if (newShare > oldShare) row.newMore += 1;
    row.oldShare += oldShare;
    // A share is the part of the values in one response that have the property. For `drift`, each such response counts as 1.
    row.newShare += kind === 'drift' && newShare > 0 ? 1 : newShare;
    row.first = Math.min(row.first, at);
    row.last = Math.max(row.last, at);
  }

  /** Adds a row without pairs for each field that the old contract lists, so that a report knows which fields were never compared. */
  #addListedFields(pair: ResponsePair): void {
    const { kind, method, template, old, at } = pair;
    const key = `${kind} ${method} ${template} ${old.status}`;
    if (kind === 'control' || this.#withListedFields.size >= maxRemembered || this.#withListedFields.has(key)) return;
    this.#withListedFields.add(key);
    for (const path of this.#comparer.listedPaths(pair)) {
      const { text, oldListing, newListing } = path;
      if (oldListing !== 'required' && oldListing !== 'optional') continue;
      const field = {
        status: old.status,
        path: text,
        what: 'value',
        detail: '',
        oldListing,
        newListing,
      } as const;
      this.#rowOf(kind, `${method} ${template}`, { ...field, oldShare: 0, newShare: 0 }, at);
    }
  }

  #rowOf(kind: EvidenceKind, route: string, one: Observation, at: number): EvidenceRow | undefined {
    const { status, path, what, detail, oldListing, newListing } = one;
    const key = [kind, route, status, path, what, detail].join('\0');
    const existing = this.#rows.get(key);
    if (existing || this.#rows.size >= maxRows) return existing;
    const { version, to, hash } = this.#versions;
    const counts = { pairs: 0, oldMore: 0, newMore: 0, oldShare: 0, newShare: 0, first: at, last: at };
    const row = { version, to, kind, hash, route, status, path, what, detail, oldListing, newListing, ...counts };
    this.#rows.set(key, row);
    return row;
  }
}

/** The observation about a response that is to be compared with a contract that cannot be read. */
function withoutContract({ old: { status } }: ResponsePair): Observation {
  const noListings = { oldListing: '', newListing: '' } as const;
  return { status, path: '', what: 'pair', detail: unreadableContract, ...noListings, oldShare: 1, newShare: 1 };
}
