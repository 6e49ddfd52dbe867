import { isList } from '../document/located.ts';
import { canonical, isDocs } from '../schema/canonical.ts';
import { acceptsAnyType } from '../schema/choices.ts';
import { matchesPattern } from '../schema/limits.ts';
import type { Schema, SubschemaRef, View } from '../schema/schema.ts';
import type { SchemaPair } from './schemaPair.ts';

/** Compares `not`, `if`, `contains`, `dependentSchemas` and other conditions. */
export function compareConditions(pair: SchemaPair): void {
  const [old, now] = [pair.old.conditions, pair.new.conditions];
  for (const [name, { ref, isDirect }] of old) {
    const kept = now.get(name)?.ref;
    const keyword = keywordOf(name);
    if (kept === undefined && isDirect && addLostFields(pair, keyword, ref)) continue;
    if (kept === undefined)
      pair.addChange('limit', effectOfPattern(pair, name, ref) ?? 'wider', keyword, ref.at, undefined);
    else if (isDirect) pair.comparePart({ kind: 'condition', name }, ref.schema, kept.schema);
    else if (!pair.isUnchanged(ref.schema, kept.schema)) {
      const effect = compareExclusions(ref.schema, kept.schema) ?? 'changed';
      if (effect !== 'same') pair.addChange('limit', effect, keyword, ref.at, kept.at);
    }
  }
  for (const [name, { ref }] of now) {
    if (old.has(name)) continue;
    pair.addChange('limit', effectOfPattern(pair, name, ref) ?? 'narrower', keywordOf(name), undefined, ref.at);
  }
}

function keywordOf(name: string): string {
  return name.split(/[ /]/, 1)[0] ?? name;
}

const conditional: ReadonlySet<string> = new Set(['then', 'else', 'dependentRequired', 'dependentSchemas']);

/**
 * Adds a change for each field that a response had under a condition which is gone. False: there are none, so the
 * condition itself is the change.
 */
function addLostFields(pair: SchemaPair, keyword: string, { schema }: SubschemaRef): boolean {
  if (pair.isRequest || !conditional.has(keyword)) return false;
  const { properties, required } = pair.new;
  const { view } = schema;
  const removed = [...view.properties].filter(([name]) => !properties.has(name));
  const optional = [...view.required].filter(([name]) => !required.has(name) && !view.properties.has(name));
  for (const [name, { at }] of removed) pair.addChange('field', 'removed', name, at, undefined);
  for (const [name, at] of optional) pair.addChange('presence', 'optional', name, at, properties.get(name)?.at);
  return removed.length + optional.length > 0;
}

const patternPrefix = 'patternProperties/';

/**
 * The effect on requests of a pattern in `patternProperties` that is added or removed. In a closed object, a pattern
 * allows more fields; in an open one, it constrains them. Undefined: no pattern, or a response.
 */
function effectOfPattern(pair: SchemaPair, name: string, ref: SubschemaRef): 'wider' | 'narrower' | undefined {
  if (!pair.isRequest || !name.startsWith(patternPrefix)) return undefined;
  if (pair.old.conditions.has(name)) return effectOfRemovedPattern(pair, ref);
  return effectOfAddedPattern(pair, name.slice(patternPrefix.length), ref);
}

/** Fields that matched must now satisfy `additionalProperties`. An object that becomes closed has a change for that. */
function effectOfRemovedPattern(pair: SchemaPair, ref: SubschemaRef): 'wider' | 'narrower' {
  const { additional } = pair.new;
  if (isOpen(pair.old) || isOpen(pair.new) || additional === undefined) return 'wider';
  return accepts(pair, ref, additional) ? 'wider' : 'narrower';
}

/** Narrower only if a field that matches was allowed before, by any other keyword, and is now constrained further. */
function effectOfAddedPattern(pair: SchemaPair, pattern: string, ref: SubschemaRef): 'wider' | 'narrower' {
  const { additional, properties, conditions } = pair.old;
  if (isOpen(pair.old) || additional === undefined) return 'narrower';
  const named = [...properties].filter(([name]) => matchesPattern(pattern, name) !== false).map(([, field]) => field);
  const matched = [...conditions].filter(([name]) => name.startsWith(patternPrefix)).map(([, one]) => one.ref);
  return [...named, ...matched, additional].every((one) => accepts(pair, one, ref)) ? 'wider' : 'narrower';
}

function isOpen({ additional }: View): boolean {
  return additional === undefined || acceptsAnyType(additional.schema.view);
}

/** Whether `now` accepts every value that `old` accepted. */
function accepts(pair: SchemaPair, old: SubschemaRef, now: SubschemaRef): boolean {
  return old.schema.view.rejectsAll || pair.isReplaceable(old.schema, now.schema);
}

/** Compares two schemas of a `not`; undefined: neither includes the other, or they are too complex to compare. */
function compareExclusions(old: Schema, now: Schema): 'same' | 'wider' | 'narrower' | undefined {
  const [before, after] = [excludedBy(old), excludedBy(now)];
  if (before === undefined || after === undefined || before.keyword !== after.keyword) return undefined;
  const [excludesLess, excludesMore] = [after.items.isSubsetOf(before.items), before.items.isSubsetOf(after.items)];
  if (excludesLess && excludesMore) return 'same';
  return excludesLess ? 'wider' : excludesMore ? 'narrower' : undefined;
}

/** The values or types that a `not` excludes, if it has `enum`, `const` or `type` and nothing else. */
function excludedBy(schema: Schema): { readonly keyword: string; readonly items: Set<string> } | undefined {
  const [part, ...others] = schema.parts;
  if (part === undefined || others.length > 0) return undefined;
  const [keyword, ...more] = Object.keys(part.map).filter((key) => !isDocs(key));
  if (keyword === undefined || more.length > 0) return undefined;
  const value = part.map[keyword];
  if (keyword === 'type') return { keyword, items: withIntegers(isList(value) ? value : [value]) };
  if (keyword === 'const') return { keyword: 'enum', items: new Set([canonical(value)]) };
  if (keyword !== 'enum' || !isList(value)) return undefined;
  return { keyword, items: new Set(value.map((one) => canonical(one))) };
}

/** Excluding numbers excludes integers. */
function withIntegers(types: readonly unknown[]): Set<string> {
  const names = new Set(types.map(String));
  return names.has('number') ? names.add('integer') : names;
}
