import { isList, type Located } from '../document/located.ts';
import { substance } from './canonical.ts';
import type { Sayings } from './held.ts';

const suspects = ['contains', 'minContains', 'maxContains', 'multipleOf', 'not'] as const;

/** What a schema says, but for what has no effect, and with what has the effect of a plainer keyword said by that. */
export function withoutIdle(said: Sayings): Sayings {
  if (!suspects.some((keyword) => said.has(keyword))) return said;
  const left = new Map(said);
  if (containsAreIdle(said)) for (const keyword of ['contains', 'minContains', 'maxContains']) left.delete(keyword);
  if (!said.has('type')) return left;
  if (refusesNull(said)) {
    const others = said.get('not')?.filter((at) => !isJustNull(at)) ?? [];
    if (others.length > 0) left.set('not', others);
    else left.delete('not');
  }
  if (said.get('multipleOf')?.some(({ value }) => value === 1)) sayIntegers(left);
  return left;
}

/** Whether null is ruled out in so many words. */
export function refusesNull(said: Sayings): boolean {
  return said.get('not')?.some(isJustNull) ?? false;
}

const nulls: readonly unknown[] = [{ type: 'null' }, { type: ['null'] }, { const: null }, { enum: [null] }];

function isJustNull({ value }: Located): boolean {
  return nulls.some((one) => substance(one) === substance(value));
}

/** That no item at all has to be of a kind demands nothing, and without a kind there is nothing to count. */
function containsAreIdle(said: Sayings): boolean {
  const kinds = said.get('contains');
  if (kinds === undefined) return true;
  const [least] = said.get('minContains') ?? [];
  return kinds.length === 1 && least?.value === 0 && !said.has('maxContains') && isBeside(kinds[0], least);
}

function isBeside(one: Located | undefined, other: Located): boolean {
  return one?.place.parent !== undefined && one.place.parent === other.place.parent;
}

/** A number that is a multiple of 1 is a whole one. */
function sayIntegers(left: Map<string, readonly Located[]>): void {
  const types = left.get('type') ?? [];
  left.set(
    'type',
    types.map(({ value, place }) => ({ value: isList(value) ? value.map(asInteger) : asInteger(value), place })),
  );
  const others = left.get('multipleOf')?.filter(({ value }) => value !== 1) ?? [];
  if (others.length > 0) left.set('multipleOf', others);
  else left.delete('multipleOf');
}

function asInteger(type: unknown): unknown {
  return type === 'number' ? 'integer' : type;
}
