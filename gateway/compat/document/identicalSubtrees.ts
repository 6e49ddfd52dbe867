import { CompareError } from '../failure.ts';
import type { Documents } from './documents.ts';
import { type ContractPlace, isList, isMap, type JsonMap, type Located, refOf } from './located.ts';

/** Two places that are held against each other. */
interface Couple {
  readonly old: Located;
  readonly new: Located;
  /** Undefined until everything that they refer to has been looked at. */
  isTwin: boolean | undefined;
  /** Whose `$ref`s lead here. */
  readonly askedBy: Couple[];
}

/** Says of two places whether there is nothing to compare. */
export interface SubtreeEquality {
  are(old: Located, now: Located): boolean;
}

/**
 * Finds what says the same on both sides word for word, with all that its `$ref`s lead to. Most of a contract does, and
 * need not be understood to be known to have stayed as it was.
 */
export class IdenticalSubtrees implements SubtreeEquality {
  readonly #old: Documents;
  readonly #new: Documents;
  readonly #isOneLanguage: boolean;
  readonly #couples = new Map<unknown, Map<unknown, Couple>>();

  constructor(old: Documents, now: Documents) {
    this.#old = old;
    this.#new = now;
    this.#isOneLanguage = old.isOpenApi30 === now.isOpenApi30;
  }

  /** False: they differ, or nobody can tell without a closer look. */
  are(old: Located, now: Located): boolean {
    if (!this.#isOneLanguage || !isMap(old.value) || !isMap(now.value)) return false;
    const couple = this.#coupleOf(old, now);
    if (couple.isTwin === undefined) this.#settle(couple);
    return couple.isTwin === true;
  }

  #coupleOf(old: Located, now: Located): Couple {
    const ofOld = this.#couples.get(old.value) ?? new Map<unknown, Couple>();
    const couple = ofOld.get(now.value) ?? { old, new: now, isTwin: undefined, askedBy: [] };
    this.#couples.set(old.value, ofOld.set(now.value, couple));
    return couple;
  }

  /** What refers to each other in a circle is the same unless something in the circle is not. */
  #settle(first: Couple): void {
    const open = new Set([first]);
    // The set grows while it is walked.
    for (const couple of open) if (!this.#isSame(couple, open)) markDifferent(couple);
    for (const couple of open) couple.isTwin ??= true;
  }

  #isSame(couple: Couple, open: Set<Couple>): boolean {
    if (couple.isTwin === false) return false;
    return this.#areSame(couple.old.value, couple.new.value, couple, open);
  }

  /** Values within a couple. */
  #areSame(a: unknown, b: unknown, couple: Couple, open: Set<Couple>): boolean {
    if (isList(a)) {
      return (
        isList(b) && a.length === b.length && a.every((item, index) => this.#areSame(item, b[index], couple, open))
      );
    }
    if (!isMap(a)) return a === b;
    if (!isMap(b)) return false;
    if (this.#areSameMaps(a, b, couple, open)) return true;
    // Remembered, since whoever looks closer asks again, level by level, and would have all below walked each time.
    const inner = { value: a, place: couple.old.place };
    markDifferent(this.#coupleOf(inner, { value: b, place: couple.new.place }));
    return false;
  }

  #areSameMaps(a: JsonMap, b: JsonMap, couple: Couple, open: Set<Couple>): boolean {
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(b, key) || !this.#areSame(a[key], b[key], couple, open)) return false;
    }
    // What a discriminator chooses from may stand anywhere.
    if (a['discriminator'] !== undefined) return false;
    // Where a `$ref` below an `$id` leads, only its own place tells.
    if (a['$id'] !== undefined && a !== couple.old.value) return false;
    return refOf(a) === undefined || this.#follow(couple, a, b, open);
  }

  /** False where the targets are known to differ; else they are looked at in their turn. */
  #follow(couple: Couple, a: JsonMap, b: JsonMap, open: Set<Couple>): boolean {
    const [old, now] = [
      targetOf(this.#old, { value: a, place: couple.old.place }),
      targetOf(this.#new, { value: b, place: couple.new.place }),
    ];
    if (!old || !now) return false;
    const target = this.#coupleOf(old, now);
    if (target.isTwin !== undefined) return target.isTwin;
    target.askedBy.push(couple);
    open.add(target);
    return true;
  }
}

function markDifferent(couple: Couple): void {
  const waiting = [couple];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (at.isTwin === false) continue;
    at.isTwin = false;
    for (const asking of at.askedBy) waiting.push(asking);
    at.askedBy.length = 0;
  }
}

/** Undefined for a `$ref` that leads nowhere, or round in a circle: whoever needs it says so, and where. */
function targetOf(
  documents: Documents,
  located: { readonly value: JsonMap; readonly place: ContractPlace },
): Located | undefined {
  try {
    documents.resolve(located);
    return documents.follow(located);
  } catch (error) {
    if (error instanceof CompareError) return undefined;
    throw error;
  }
}
