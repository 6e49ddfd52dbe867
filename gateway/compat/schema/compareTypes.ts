import { isBytes } from './bytes.ts';
import { isWithin, type JsonType } from './jsonTypes.ts';
import { isSentAsText, type Pair } from './pair.ts';
import { isAnything } from './reach.ts';
import type { View } from './view.ts';

type Relation = 'same' | 'narrower' | 'wider' | 'changed';

/** Whether there is any use in comparing the rest: not for two schemas that share no type. */
export function compareTypes(pair: Pair): boolean {
  const { old, new: now } = pair;
  if (old.isNothing !== now.isNothing) {
    pair.found('limit', now.isNothing ? 'narrower' : 'wider', 'schema', pair.oldSchema.located, pair.newSchema.located);
    return false;
  }
  if (isBytes(old, pair.context) && isBytes(now, pair.context)) return true;
  const relation = relationOf(old, now, pair);
  if (relation !== 'same') {
    pair.found(
      'type',
      relation,
      'type',
      old.at('type') ?? pair.oldSchema.located,
      now.at('type') ?? pair.newSchema.located,
    );
  }
  if (relation === 'changed' && !overlaps(old.types, now.types)) return false;
  // Anything in place of something, or the other way round: no more can be said.
  if (relation !== 'same' && (isAnything(old) || isAnything(now))) return false;
  compareNull(pair);
  // What a format says, it says of one type.
  if (relation === 'same' || shareAType(old.types, now.types)) compareFormats(pair);
  return true;
}

function shareAType(a: ReadonlySet<JsonType> | undefined, b: ReadonlySet<JsonType> | undefined): boolean {
  return a !== undefined && b !== undefined && [...a].some((type) => b.has(type));
}

function relationOf(old: View, now: View, { context }: Pair): Relation {
  // What leaves a choice has its types told by its alternatives.
  if (old.types === undefined && old.groups.length > 0) return 'same';
  if (now.types === undefined && now.groups.length > 0) return 'same';
  const isSent = isSentAsText(context);
  // Which of them are still taken is the business of the values themselves.
  if (isSent && isListed(old) && isListed(now)) return 'same';
  const narrows = isWithin(now.types, old.types) || (isSent && isText(old, now));
  const widens = isWithin(old.types, now.types) || (isSent && isText(now, old));
  if (narrows && widens) return 'same';
  return narrows ? 'narrower' : widens ? 'wider' : 'changed';
}

/** Whether `wide` takes any text, and `narrow` is written as one. */
function isText(wide: View, narrow: View): boolean {
  if (!wide.types?.has('string')) return false;
  const { counts, texts } = wide.limits;
  const takesAll = wide.values === undefined && counts.size === 0 && texts.size === 0;
  return takesAll && !narrow.types?.has('array') && !narrow.types?.has('object');
}

function isListed({ values, types }: View): boolean {
  return values !== undefined && !types?.has('array') && !types?.has('object');
}

function overlaps(a: ReadonlySet<JsonType> | undefined, b: ReadonlySet<JsonType> | undefined): boolean {
  return a === undefined || b === undefined || [...a].some((type) => isWithin(new Set([type]), b) || b.has(type));
}

function compareNull(pair: Pair): void {
  const { old, new: now } = pair;
  if (isAnything(old) || isAnything(now)) return;
  const isAsDoubtful = old.isNullUnlisted === now.isNullUnlisted;
  if (old.nullable !== now.nullable && !(isAsDoubtful && old.isNullUnlisted)) tellNull(pair, now.nullable);
  else if (old.nullable !== now.nullable || !isAsDoubtful)
    pair.found('structure', 'equivalent', 'null', old.at('enum') ?? old.at('const'), now.at('enum') ?? now.at('const'));
}

export function tellNull(pair: Pair, isAdded: boolean): void {
  const { old, new: now, oldSchema, newSchema } = pair;
  const located = [old.at('type') ?? oldSchema.located, now.at('type') ?? newSchema.located] as const;
  pair.found('null', isAdded ? 'added' : 'removed', '', ...located);
}

// Formats of which every value is one of the other.
const widenings: ReadonlySet<string> = new Set(['int32>int64', 'float>double']);

function compareFormats(pair: Pair): void {
  const [old, now] = [pair.old.limits.texts.get('format'), pair.new.limits.texts.get('format')];
  const [before, after] = [wordsOf(old?.is), wordsOf(now?.is)];
  if (before === after) return;
  const isWider = now === undefined || widenings.has(`${before}>${after}`);
  const isNarrower = old === undefined || widenings.has(`${after}>${before}`);
  pair.found('type', isWider ? 'wider' : isNarrower ? 'narrower' : 'changed', 'format', old?.at, now?.at);
}

function wordsOf(formats: ReadonlySet<string> | undefined): string {
  return [...(formats ?? [])].sort().join(' and ').replaceAll('"', '');
}
