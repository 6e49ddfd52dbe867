import type { Held } from './held.ts';
import type { Pair } from './pair.ts';
import { isAnything } from './reach.ts';
import { matches } from './regularExpressions.ts';
import { isCompatible } from './severity.ts';
import type { View } from './view.ts';

const prefix = 'patternProperties/';

/**
 * What becomes of a request where `patternProperties` come or go. Of a closed object they are what it takes beside its
 * named fields; of an open one, they are a demand. Undefined: nothing but that.
 */
export function effectOnOthers(pair: Pair, name: string, held: Held): 'wider' | 'narrower' | undefined {
  if (pair.context.direction === 'response' || !name.startsWith(prefix)) return undefined;
  return pair.old.conditions.has(name) ? ofRemoved(pair, held) : ofAdded(pair, name.slice(prefix.length), held);
}

/** What matched has to be what other fields are. An object that has just been closed is told as that. */
function ofRemoved(pair: Pair, held: Held): 'wider' | 'narrower' {
  const { additional } = pair.new;
  if (isOpen(pair.old) || isOpen(pair.new) || additional === undefined) return 'wider';
  return takes(pair, held, additional) ? 'wider' : 'narrower';
}

/** What matches has to fulfil more only if it was taken before, in whatever capacity. */
function ofAdded(pair: Pair, pattern: string, held: Held): 'wider' | 'narrower' {
  const { additional, properties, conditions } = pair.old;
  if (isOpen(pair.old) || additional === undefined) return 'narrower';
  const named = [...properties].filter(([name]) => matches(pattern, name) !== false).map(([, field]) => field);
  const others = [...conditions].filter(([name]) => name.startsWith(prefix)).map(([, condition]) => condition.held);
  return [...named, ...others, additional].every((one) => takes(pair, one, held)) ? 'wider' : 'narrower';
}

function isOpen({ additional }: View): boolean {
  return additional === undefined || isAnything(additional.schema.view);
}

/** Whether one schema takes all that another one took. */
function takes(pair: Pair, old: Held, now: Held): boolean {
  return old.schema.view.isNothing || isCompatible(pair.trial(old.schema, now.schema));
}
