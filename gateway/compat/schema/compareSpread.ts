import type { Comparison } from '../change.ts';
import type { Located } from '../document/located.ts';
import { predicateOf } from '../rules/rules.ts';
import { subjectOf } from '../rules/sentence.ts';
import { tellNull } from './compareTypes.ts';
import { looksOf } from './groups.ts';
import { isWithin } from './jsonTypes.ts';
import type { Pair } from './pair.ts';
import { takesNull, unionOfTypes } from './reach.ts';
import type { Schema } from './schema.ts';
import { breakages, isCompatible, isUnchanged, worstIn } from './severity.ts';
import { spread } from './spread.ts';
import { isTorn } from './torn.ts';

type Fits = (before: Schema, after: Schema) => boolean;

/**
 * Holds two schemas against each other as lists of everything that they can come down to, each with what stands beside
 * the choice written into it: an object that became a choice of objects is compared with each of them.
 */
export function compareSpread(pair: Pair): void {
  const [old, now] = [spread(pair.oldSchema), spread(pair.newSchema)];
  takeBack(pair);
  const places: [Located, Located] = [pair.oldSchema.located, pair.newSchema.located];
  if (old === undefined || now === undefined) {
    pair.found('structure', 'changed', '', ...places);
    return;
  }
  const [lost, fresh] = leftOver(old, now, unbroken(pair));
  const isRequest = pair.context.direction === 'request';
  if (isSound(pair, old, now, unbroken(pair))) {
    pair.found('structure', 'equivalent', '', ...places);
    return;
  }
  const newTypes = fresh.some((one) => !isWithin(unionOfTypes(one), unionOfTypes(pair.oldSchema)));
  if (!isRequest && newTypes) pair.found('type', 'wider', 'type', ...places);
  else if (!isRequest && lost.length === 0)
    pair.found('alternative', 'added', fresh.map(looksOf).join('` or `'), ...places);
  else if (isRequest || !tellLostField(pair, old, fresh))
    pair.found('structure', 'changed', reason(pair, isRequest ? lost : old, isRequest ? now : fresh), ...places);
}

/** Takes back what was found if that has only moved, between a choice and what stands beside it. */
export function forgetWhatMoved(pair: Pair): void {
  if (takesNull(pair.oldSchema) !== takesNull(pair.newSchema)) return;
  // `oneOf` in place of `anyOf`: that has not moved.
  if (pair.into.changes.some(({ kind, effect }) => kind === 'structure' && effect === 'changed')) return;
  const [old, now] = [spread(pair.oldSchema), spread(pair.newSchema)];
  if (old === undefined || now === undefined) return;
  const left = leftOver(old, now, (before, after) => isUnchanged(pair.trial(before, after)));
  const isSame = left.every(({ length }) => length === 0) && !isTorn(pair, old, now);
  if (!isSame && (breakages(pair.into) === 0 || !isSound(pair, old, now, compatible(pair)))) return;
  takeBack(pair);
  pair.found('structure', 'equivalent', '', pair.oldSchema.located, pair.newSchema.located);
}

function isSound(pair: Pair, old: readonly Schema[], now: readonly Schema[], fits: Fits): boolean {
  const [lost, fresh] = leftOver(old, now, fits);
  return pair.context.direction === 'request' ? lost.length === 0 && !isTorn(pair, old, now) : fresh.length === 0;
}

function unbroken(pair: Pair): Fits {
  return (before, after) => breakages(pair.trial(before, after)) === 0;
}

/** What has no field in common fits as well, says JSON Schema, where none is required: nobody means that. */
function compatible(pair: Pair): Fits {
  return (before, after) => isCompatible(pair.trial(before, after));
}

function leftOver(old: readonly Schema[], now: readonly Schema[], fits: Fits): [lost: Schema[], fresh: Schema[]] {
  const lost = old.filter((before) => !now.some((after) => fits(before, after)));
  const fresh = now.filter((after) => !old.some((before) => fits(before, after)));
  return [lost, fresh];
}

/** What was found beside the choice was about half of a schema. */
function takeBack(pair: Pair): void {
  const { changes, parts } = pair.into;
  const docs = changes.filter(({ kind }) => kind === 'docs');
  changes.splice(0, changes.length, ...docs);
  parts.length = 0;
  const [was, is] = [takesNull(pair.oldSchema), takesNull(pair.newSchema)];
  if (was !== is) tellNull(pair, is);
}

/** Where a field that is gone is all that breaks, the new structure is not to blame. False: it is not. */
function tellLostField(pair: Pair, old: readonly Schema[], now: readonly Schema[]): boolean {
  const best = nearest(pair, old, now);
  const worst = best && worstIn(best);
  if (worst?.change.kind !== 'field' || breakages(best ?? pair.into) !== 1) return false;
  const alone: Comparison = { changes: [worst.change], parts: [], isDone: true };
  pair.into.parts.push({
    step: undefined,
    comparison: worst.steps.reduceRight<Comparison>(
      (comparison, step) => ({ changes: [], parts: [{ step, comparison }], isDone: true }),
      alone,
    ),
  });
  return true;
}

/** The two of which the least breaks. */
function nearest(pair: Pair, old: readonly Schema[], now: readonly Schema[]): Comparison | undefined {
  const trials = old.flatMap((before) => now.map((after) => pair.trial(before, after)));
  return trials.sort((a, b) => breakages(a) - breakages(b))[0];
}

/** What breaks between the two that are the nearest to each other. */
function reason(pair: Pair, old: readonly Schema[], now: readonly Schema[]): string {
  const best = nearest(pair, old, now);
  const worst = best && worstIn(best);
  return worst === undefined ? '' : `${subjectOf(worst.steps, worst.change)} ${predicateOf(worst.change)}`.trim();
}
