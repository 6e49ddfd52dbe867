import { compareExclusions } from './compareExclusions.ts';
import { effectOnOthers } from './comparePatterns.ts';
import type { Held } from './held.ts';
import type { Pair } from './pair.ts';
import { isUnchanged } from './severity.ts';

/** `not`, `if`, `contains`, `dependentSchemas` and their like. */
export function compareConditions(pair: Pair): void {
  const [old, now] = [pair.old.conditions, pair.new.conditions];
  for (const [name, { held, isDirect }] of old) {
    const kept = now.get(name)?.held;
    const word = name.split(/[ /]/, 1)[0] ?? name;
    if (kept === undefined && isDirect && tellsOfLost(pair, word, held)) continue;
    if (kept === undefined) pair.found('limit', effectOnOthers(pair, name, held) ?? 'wider', word, held.at, undefined);
    else if (isDirect) pair.part({ kind: 'part', text: wordsFor(name) }, held.schema, kept.schema);
    else if (!isUnchanged(pair.trial(held.schema, kept.schema))) {
      const effect = compareExclusions(held.schema, kept.schema) ?? 'changed';
      if (effect !== 'same') pair.found('limit', effect, word, held.at, kept.at);
    }
  }
  for (const [name, { held }] of now) {
    if (old.has(name)) continue;
    const word = name.split(/[ /]/, 1)[0] ?? name;
    pair.found('limit', effectOnOthers(pair, name, held) ?? 'narrower', word, undefined, held.at);
  }
}

const conditional: ReadonlySet<string> = new Set(['then', 'else', 'dependentRequired', 'dependentSchemas']);

/** What an answer held under some condition is a field of it all the same. False: there was none. */
function tellsOfLost(pair: Pair, word: string, { schema }: Held): boolean {
  if (pair.context.direction === 'request' || !conditional.has(word)) return false;
  const { properties, required } = pair.new;
  const { view } = schema;
  const gone = [...view.properties].filter(([name]) => !properties.has(name));
  const missing = [...view.required].filter(([name]) => !required.has(name) && !view.properties.has(name));
  for (const [name, { at }] of gone) pair.found('field', 'removed', name, at, undefined);
  for (const [name, at] of missing) pair.found('presence', 'optional', name, at, properties.get(name)?.at);
  return gone.length + missing.length > 0;
}

function wordsFor(name: string): string {
  return name.replace(/ \(.*$/s, '').replaceAll('/', ' ');
}
