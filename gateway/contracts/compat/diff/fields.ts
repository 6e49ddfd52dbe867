import { isList } from '../../../contract/document/located.ts';
import type { Direction } from '../../../contract/routes.ts';
import { acceptsAnyType, acceptsAnyValue } from '../../../contract/schema/choices.ts';
import { canonicalJson, isDocs } from '../../../contract/schema/keywords.ts';
import { matchesPattern } from '../../../contract/schema/limits.ts';
import type { Schema, SubschemaRef, View } from '../../../contract/schema/schema.ts';
import { addPart, comparisonWithOneChange, type PathStep } from './change.ts';
import type { SchemaPair } from './schemaPair.ts';

type Fields = ReadonlyMap<string, SubschemaRef>;

/** Compares the fields of objects: the named ones, then all others. */
export function compareFields(pair: SchemaPair): void {
  if (!pair.isKeywordComparable('properties')) return;
  const { old, new: now, use } = pair;
  const [before, after] = [fieldsIn(old, use.direction), fieldsIn(now, use.direction)];
  for (const [name, field] of before) {
    const kept = after.get(name);
    if (kept === undefined) addFieldRemoval(pair, name, field);
    else if (isEmptied(pair, field, kept)) pair.addChange('field', 'removed', name, field.at, kept.at);
    else pair.compareSubschemas({ kind: 'field', name }, field, kept);
  }
  for (const [name, field] of after) {
    if (before.has(name)) continue;
    pair.addChange('field', now.required.has(name) ? 'added_required' : 'added', name, undefined, field.at);
    // `additionalProperties` allowed the field before.
    if (isConstrained(old.additional)) pair.compareSubschemas({ kind: 'field', name }, old.additional, field);
  }
  compareRequired(pair, before, after);
  compareAdditional(pair);
}

function addFieldRemoval(pair: SchemaPair, name: string, field: SubschemaRef): void {
  const { additional, conditions, properties } = pair.new;
  // `properties` may still have the field, for the other direction only.
  const isClosed = additional?.schema.view.rejectsAll === true && conditions.size === 0 && !properties.has(name);
  pair.addChange('field', isClosed && pair.isRequest ? 'refused' : 'removed', name, field.at, undefined);
  if (pair.isRequest && isConstrained(additional)) {
    pair.compareSubschemas({ kind: 'field', name }, field, additional);
  }
}

/** Whether a response can no longer have the field, because its schema rejects every value. */
function isEmptied(pair: SchemaPair, old: SubschemaRef, now: SubschemaRef): boolean {
  if (pair.isRequest || pair.areIdentical(old, now)) return false;
  return now.schema.view.rejectsAll && !old.schema.view.rejectsAll;
}

/** The fields of one direction: requests have no `readOnly` fields, and responses no `writeOnly` ones. */
function fieldsIn({ properties }: View, direction: Direction): Fields {
  const absenceKeyword = direction === 'request' ? 'readOnly' : 'writeOnly';
  for (const field of properties.values()) {
    if (field.has(absenceKeyword)) return new Map([...properties].filter(([, one]) => !one.has(absenceKeyword)));
  }
  return properties;
}

function compareRequired(pair: SchemaPair, before: Fields, after: Fields): void {
  const { old, new: now } = pair;
  for (const [name, at] of now.required) {
    const isNew = after.has(name) && !before.has(name);
    if (!isNew && !old.required.has(name) && !isOfOtherDirection(name, now, after)) {
      pair.addChange('presence', 'required', name, before.get(name)?.at, at);
    }
  }
  for (const [name, at] of old.required) {
    const isGone = before.has(name) && !after.has(name);
    if (!isGone && !now.required.has(name) && !isOfOtherDirection(name, old, before)) {
      pair.addChange('presence', 'optional', name, at, after.get(name)?.at);
    }
  }
}

function isOfOtherDirection(name: string, view: View, fields: Fields): boolean {
  return view.properties.has(name) && !fields.has(name);
}

const anyField: PathStep = { kind: 'field', name: '*' };

function compareAdditional(pair: SchemaPair): void {
  const [old, now] = [pair.old.additional, pair.new.additional];
  const [wasUnconstrained, isNowUnconstrained] = [isUnconstrained(old), isUnconstrained(now)];
  if (wasUnconstrained && isNowUnconstrained) return;
  const areBothConstrained = !wasUnconstrained && !isNowUnconstrained;
  if (old && now && areBothConstrained && old.schema.view.rejectsAll === now.schema.view.rejectsAll) {
    pair.comparePart(anyField, old.schema, now.schema);
    return;
  }
  const isWider = isNowUnconstrained || old?.schema.view.rejectsAll === true;
  const wasMap = pair.old.properties.size === 0 && old?.schema.view.rejectsAll === false;
  // In a response, the values of a map count as its fields.
  if (isConstrained(old) && now?.schema.view.rejectsAll && !pair.isRequest)
    pair.addChange('field', 'removed', '*', old.at, now.at);
  // The values of a map were described, and may now have any type.
  else if (isWider && wasMap) pair.addChange('type', 'wider', 'additionalProperties', old?.at, now?.at);
  else pair.addChange('limit', isWider ? 'wider' : 'narrower', 'additionalProperties', old?.at, now?.at);
}

function isConstrained(additional: SubschemaRef | undefined): additional is SubschemaRef {
  return additional !== undefined && !isUnconstrained(additional) && !additional.schema.view.rejectsAll;
}

function isUnconstrained(additional: SubschemaRef | undefined): boolean {
  return additional === undefined || additional.schema.parts.every(({ map }) => Object.keys(map).length === 0);
}

/** Compares the items of arrays: those of `prefixItems`, then all others. */
export function compareItems(pair: SchemaPair): void {
  if (!pair.isKeywordComparable('items')) return;
  const { old, new: now } = pair;
  const count = Math.max(old.prefixItems.length, now.prefixItems.length);
  for (let index = 0; index < count; index += 1) {
    const [before, after] = [itemAt(old, index), itemAt(now, index)];
    comparePresence(pair, index, before, after);
    if (before && after) pair.compareSubschemas({ kind: 'items', index }, before, after);
    else if (before || after) addItemLimit(pair, before, after);
  }
  const [before, after] = [old.items, now.items];
  if (before && after) pair.compareSubschemas({ kind: 'items' }, before, after);
  else {
    const [effect, items] = after ? (['narrower', after] as const) : (['wider', before] as const);
    if (items === undefined || acceptsAnyValue(items.schema.view)) return;
    const kind = acceptsAnyType(items.schema.view) ? 'limit' : 'type';
    pair.addChange(kind, effect, 'items', before?.at, after?.at);
  }
}

/** Adds a change for an item of `prefixItems` that only one schema has, unless it may have any value. */
function addItemLimit(pair: SchemaPair, before?: SubschemaRef, after?: SubschemaRef): void {
  const item = after ?? before;
  if (item && !acceptsAnyValue(item.schema.view))
    pair.addChange('limit', after ? 'narrower' : 'wider', 'prefixItems', before?.at, after?.at);
}

/** Adds a change if `minItems` guaranteed that a response has this item, and no longer guarantees it. */
function comparePresence(pair: SchemaPair, index: number, before?: SubschemaRef, after?: SubschemaRef): void {
  const [oldMinimum = 0, newMinimum = 0] = [pair.old, pair.new].map(
    ({ limits }) => limits.counts.get('minItems')?.value ?? 0,
  );
  const isKept = after !== undefined && newMinimum > index;
  if (pair.isRequest || before === undefined || oldMinimum <= index || isKept) return;
  const [old, now] = [before.at, after?.at];
  addPart(
    pair.result,
    { kind: 'items', index },
    comparisonWithOneChange({ kind: 'presence', effect: 'optional', direction: 'response', name: '', old, new: now }),
  );
}

function itemAt(view: View, index: number): SubschemaRef | undefined {
  return view.prefixItems[index] ?? view.items;
}

/** Compares `not`, `if`, `contains`, `dependentSchemas` and other conditions. */
export function compareConditions(pair: SchemaPair): void {
  const [old, now] = [pair.old.conditions, pair.new.conditions];
  for (const [name, { ref, isNegated }] of old) {
    const kept = now.get(name)?.ref;
    const keyword = keywordOf(name);
    if (!pair.isKeywordComparable(keyword)) continue;
    if (kept === undefined && !isNegated && addLostFields(pair, keyword, ref)) continue;
    if (kept === undefined)
      pair.addChange('limit', effectOfPattern(pair, name, ref) ?? 'wider', keyword, ref.at, undefined);
    else if (!isNegated) pair.comparePart({ kind: 'condition', name }, ref.schema, kept.schema);
    else if (!pair.isUnchanged(ref.schema, kept.schema)) {
      const effect = (keyword === 'not' ? compareExclusions(ref.schema, kept.schema) : undefined) ?? 'changed';
      if (effect !== 'same') pair.addChange('limit', effect, keyword, ref.at, kept.at);
    }
  }
  for (const [name, { ref }] of now) {
    if (old.has(name) || !pair.isKeywordComparable(keywordOf(name))) continue;
    pair.addChange('limit', effectOfPattern(pair, name, ref) ?? 'narrower', keywordOf(name), undefined, ref.at);
  }
}

/** The keyword in the name of a condition: `dependentSchemas/card` → `dependentSchemas`, `then (IF)` → `then`. */
function keywordOf(name: string): string {
  return name.split(/[ /]/, 1)[0] ?? name;
}

const conditionalKeywords: ReadonlySet<string> = new Set(['then', 'else', 'dependentRequired', 'dependentSchemas']);

/**
 * Adds a change for each field that a response had under a removed condition. False: there is no such field, so the removed
 * condition itself is the change.
 */
function addLostFields(pair: SchemaPair, keyword: string, { schema }: SubschemaRef): boolean {
  if (pair.isRequest || !conditionalKeywords.has(keyword)) return false;
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
 * The effect on requests of a pattern that is added to or removed from `patternProperties`. In an object that accepts no other
 * fields, a pattern allows more fields. In an object that accepts any other field, it constrains the fields that match.
 * Undefined: no pattern, or a response.
 */
function effectOfPattern(pair: SchemaPair, name: string, ref: SubschemaRef): 'wider' | 'narrower' | undefined {
  if (!pair.isRequest || !name.startsWith(patternPrefix)) return undefined;
  if (pair.old.conditions.has(name)) return effectOfRemovedPattern(pair, ref);
  return effectOfAddedPattern(pair, name.slice(patternPrefix.length), ref);
}

/**
 * Fields that matched the removed pattern must now satisfy `additionalProperties`. The change is narrower if that schema rejects
 * values that the pattern allowed, otherwise wider. It is always wider if the old object accepts any other field:
 * `compareAdditional` adds a change if the new object no longer accepts any other field.
 */
function effectOfRemovedPattern(pair: SchemaPair, ref: SubschemaRef): 'wider' | 'narrower' {
  const { additional } = pair.new;
  if (acceptsAnyField(pair.old) || acceptsAnyField(pair.new) || additional === undefined) return 'wider';
  return accepts(pair, ref, additional) ? 'wider' : 'narrower';
}

/** Narrower if the new pattern may reject a value that a matching field could have before. */
function effectOfAddedPattern(pair: SchemaPair, pattern: string, ref: SubschemaRef): 'wider' | 'narrower' {
  const { additional, properties, conditions } = pair.old;
  if (acceptsAnyField(pair.old) || additional === undefined) return 'narrower';
  const fieldsThatMayMatch = [...properties]
    .filter(([name]) => matchesPattern(pattern, name) !== false)
    .map(([, field]) => field);
  const otherPatterns = [...conditions].filter(([name]) => name.startsWith(patternPrefix)).map(([, one]) => one.ref);
  return [...fieldsThatMayMatch, ...otherPatterns, additional].every((one) => accepts(pair, one, ref))
    ? 'wider'
    : 'narrower';
}

function acceptsAnyField({ additional }: View): boolean {
  return additional === undefined || acceptsAnyValue(additional.schema.view);
}

/** Whether `now` accepts every value that `old` accepted. */
function accepts(pair: SchemaPair, old: SubschemaRef, now: SubschemaRef): boolean {
  return old.schema.view.rejectsAll || pair.isReplaceable(old.schema, now.schema);
}

/** Compares two schemas of a `not`; undefined: neither includes the other, or they are too complex to compare. */
function compareExclusions(old: Schema, now: Schema): 'same' | 'wider' | 'narrower' | undefined {
  const [before, after] = [excludedBy(old), excludedBy(now)];
  if (before === undefined || after === undefined || before.keyword !== after.keyword) return undefined;
  const [excludesLess, excludesMore] = [
    after.excluded.isSubsetOf(before.excluded),
    before.excluded.isSubsetOf(after.excluded),
  ];
  if (excludesLess && excludesMore) return 'same';
  return excludesLess ? 'wider' : excludesMore ? 'narrower' : undefined;
}

/** The values or types that a `not` excludes, if it has `enum`, `const` or `type` and nothing else. */
function excludedBy(schema: Schema): { readonly keyword: string; readonly excluded: Set<string> } | undefined {
  const [part, ...otherParts] = schema.parts;
  if (part === undefined || otherParts.length > 0) return undefined;
  const [keyword, ...otherKeywords] = Object.keys(part.map).filter((key) => !isDocs(key));
  if (keyword === undefined || otherKeywords.length > 0) return undefined;
  const value = part.map[keyword];
  if (keyword === 'type') return { keyword, excluded: withIntegers(isList(value) ? value : [value]) };
  if (keyword === 'const') return { keyword: 'enum', excluded: new Set([canonicalJson(value)]) };
  if (keyword !== 'enum' || !isList(value)) return undefined;
  return { keyword, excluded: new Set(value.map((one) => canonicalJson(one))) };
}

/** Excluding numbers excludes integers. */
function withIntegers(types: readonly unknown[]): Set<string> {
  const names = new Set(types.map(String));
  return names.has('number') ? names.add('integer') : names;
}
