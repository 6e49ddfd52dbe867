import type { Pair } from './pair.ts';
import { isUnchanged } from './severity.ts';

/** `not`, `if`, `contains`, `dependentSchemas` and their like. */
export function compareConditions(pair: Pair): void {
  const [old, now] = [pair.old.conditions, pair.new.conditions];
  for (const [name, { held, isDirect }] of old) {
    const kept = now.get(name)?.held;
    const word = name.split(/[ /]/, 1)[0] ?? name;
    if (kept === undefined) pair.found('limit', 'wider', word, held.at, undefined);
    else if (isDirect) pair.part({ kind: 'part', text: wordsFor(name) }, held.schema, kept.schema);
    else if (!isUnchanged(pair.trial(held.schema, kept.schema))) pair.found('limit', 'changed', word, held.at, kept.at);
  }
  for (const [name, { held }] of now) {
    if (!old.has(name)) pair.found('limit', 'narrower', name.split(/[ /]/, 1)[0] ?? name, undefined, held.at);
  }
}

function wordsFor(name: string): string {
  return name.replace(/ \(.*$/s, '').replaceAll('/', ' ');
}
