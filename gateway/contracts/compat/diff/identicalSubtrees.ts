import type { Documents } from '../../../contract/document/documents.ts';
import { type ContractPlace, isList, type Located, refOf } from '../../../contract/document/located.ts';
import { CompareError } from '../../../contract/failure.ts';
import { isMap, type JsonMap } from '../../../shared/json.ts';

/** Tells whether a comparison of two places can be skipped. */
export interface SubtreeEquality {
  areIdentical(old: Located, now: Located): boolean;
}

/** Two maps, one of each contract, and whether they are identical. */
interface MapPair {
  readonly old: Located;
  readonly new: Located;
  /** Undefined until it is known. */
  isIdentical: boolean | undefined;
  /** The pairs whose `$ref`s lead to this one. */
  readonly referrers: MapPair[];
}

/**
 * Finds the maps that are the same in both contracts, including everything that their `$ref`s lead to. Most of a contract
 * does not change between two versions, and identical parts need no comparison.
 */
export class IdenticalSubtrees implements SubtreeEquality {
  readonly #old: Documents;
  readonly #new: Documents;
  /** A schema can have different meanings in OpenAPI 3.0 and in later versions. */
  readonly #haveSameDialect: boolean;
  /** Old map → new map → their pair. */
  readonly #pairs = new Map<unknown, Map<unknown, MapPair>>();

  constructor(old: Documents, now: Documents) {
    this.#old = old;
    this.#new = now;
    this.#haveSameDialect = old.isOpenApi30 === now.isOpenApi30;
  }

  /** May be false for identical maps: some of them can be recognized only by a full comparison. */
  areIdentical(old: Located, now: Located): boolean {
    if (!this.#haveSameDialect || !isMap(old.value) || !isMap(now.value)) return false;
    const pair = this.#pairOf(old, now);
    if (pair.isIdentical === undefined) this.#comparePairs(pair);
    return pair.isIdentical === true;
  }

  #pairOf(old: Located, now: Located): MapPair {
    const pairsOfOld = this.#pairs.get(old.value) ?? new Map<unknown, MapPair>();
    const pair = pairsOfOld.get(now.value) ?? { old, new: now, isIdentical: undefined, referrers: [] };
    this.#pairs.set(old.value, pairsOfOld.set(now.value, pair));
    return pair;
  }

  /** Compares a pair and all pairs that it refers to. A circle of references is identical unless a difference is found in it. */
  #comparePairs(first: MapPair): void {
    const pending = new Set([first]);
    // The set grows during the loop.
    for (const pair of pending) if (!this.#mayBeIdentical(pair, pending)) markDifferent(pair);
    for (const pair of pending) pair.isIdentical ??= true;
  }

  /** False if a difference is known. The targets of `$ref`s in the pair are added to `pending`, and compared later. */
  #mayBeIdentical(pair: MapPair, pending: Set<MapPair>): boolean {
    if (pair.isIdentical === false) return false;
    return this.#mayValuesBeIdentical(pair.old.value, pair.new.value, pair, pending);
  }

  /** Like `#mayBeIdentical`, for two values within `pair`. */
  #mayValuesBeIdentical(a: unknown, b: unknown, pair: MapPair, pending: Set<MapPair>): boolean {
    if (isList(a)) {
      if (!isList(b) || a.length !== b.length) return false;
      return a.every((item, index) => this.#mayValuesBeIdentical(item, b[index], pair, pending));
    }
    if (!isMap(a)) return a === b;
    if (!isMap(b)) return false;
    if (this.#mayMapsBeIdentical(a, b, pair, pending)) return true;
    // `areIdentical` will be called for each nested level next. Without this result, each call would walk the whole subtree again.
    // A pair that is marked different is not compared again, so the places of `a` and `b` need not be exact.
    const [old, now] = [
      { value: a, place: pair.old.place },
      { value: b, place: pair.new.place },
    ];
    markDifferent(this.#pairOf(old, now));
    return false;
  }

  #mayMapsBeIdentical(a: JsonMap, b: JsonMap, pair: MapPair, pending: Set<MapPair>): boolean {
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(b, key) || !this.#mayValuesBeIdentical(a[key], b[key], pair, pending)) return false;
    }
    // A discriminator selects schemas that may be anywhere in the contract.
    if (a['discriminator'] !== undefined) return false;
    // A `$ref` below an `$id` is relative to this `$id`. `$ref`s are resolved from the place of the pair, so the `$id` of a map within
    // the pair would have no effect.
    if (a['$id'] !== undefined && a !== pair.old.value) return false;
    return refOf(a) === undefined || this.#mayTargetsBeIdentical(pair, a, b, pending);
  }

  /** False if the targets are known to differ; otherwise they are compared later. */
  #mayTargetsBeIdentical(pair: MapPair, a: JsonMap, b: JsonMap, pending: Set<MapPair>): boolean {
    const old = targetOf(this.#old, { value: a, place: pair.old.place });
    const now = targetOf(this.#new, { value: b, place: pair.new.place });
    if (!old || !now) return false;
    const target = this.#pairOf(old, now);
    if (target.isIdentical !== undefined) return target.isIdentical;
    target.referrers.push(pair);
    pending.add(target);
    return true;
  }
}

/** Marks a pair and every pair that refers to it. */
function markDifferent(pair: MapPair): void {
  const waiting = [pair];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (at.isIdentical === false) continue;
    at.isIdentical = false;
    for (const referrer of at.referrers) waiting.push(referrer);
    at.referrers.length = 0;
  }
}

/** Undefined for a broken or circular `$ref`; the comparison reports it. */
function targetOf(
  documents: Documents,
  located: { readonly value: JsonMap; readonly place: ContractPlace },
): Located | undefined {
  try {
    // Throws if the `$ref`s that follow the first one are broken or circular.
    documents.resolve(located);
    return documents.follow(located);
  } catch (error) {
    if (error instanceof CompareError) return undefined;
    throw error;
  }
}
