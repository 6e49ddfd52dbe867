import { isList } from '../document/located.ts';
import { canonical, isDocs } from './canonical.ts';
import type { Schema } from './schema.ts';

/** What a `not` rules out, where that can be counted: the values, or the types. */
function excludedBy(schema: Schema): { readonly keyword: string; readonly what: Set<string> } | undefined {
  const [part, ...others] = schema.parts;
  if (part === undefined || others.length > 0) return undefined;
  const [keyword, ...more] = Object.keys(part.map).filter((key) => !isDocs(key));
  if (keyword === undefined || more.length > 0) return undefined;
  const said = part.map[keyword];
  if (keyword === 'type') return { keyword, what: withIntegers(isList(said) ? said : [said]) };
  if (keyword === 'const') return { keyword: 'enum', what: new Set([canonical(said)]) };
  return keyword === 'enum' && isList(said) ? { keyword, what: new Set(said.map((one) => canonical(one))) } : undefined;
}

/** Who rules out numbers rules out whole ones. */
function withIntegers(types: readonly unknown[]): Set<string> {
  const names = new Set(types.map(String));
  return names.has('number') ? names.add('integer') : names;
}

/** How a `not` has changed; undefined: cannot be told. */
export function compareExclusions(old: Schema, now: Schema): 'same' | 'wider' | 'narrower' | undefined {
  const [before, after] = [excludedBy(old), excludedBy(now)];
  if (before === undefined || after === undefined || before.keyword !== after.keyword) return undefined;
  const [isFewer, isMore] = [after.what.isSubsetOf(before.what), before.what.isSubsetOf(after.what)];
  if (isFewer && isMore) return 'same';
  return isFewer ? 'wider' : isMore ? 'narrower' : undefined;
}
