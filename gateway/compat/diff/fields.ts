import { acceptsAnyType } from '../schema/choices.ts';
import type { SubschemaRef, View } from '../schema/schema.ts';
import { addPart, comparisonOf, type Direction, type PathStep } from './change.ts';
import type { SchemaPair } from './schemaPair.ts';

type Fields = ReadonlyMap<string, SubschemaRef>;

/** Compares the fields of objects: the named ones, then all others. */
export function compareFields(pair: SchemaPair): void {
  const { old, new: now, use } = pair;
  const [before, after] = [fieldsIn(old, use.direction), fieldsIn(now, use.direction)];
  for (const [name, field] of before) {
    const kept = after.get(name);
    if (kept === undefined) addRemoved(pair, name, field);
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

function addRemoved(pair: SchemaPair, name: string, field: SubschemaRef): void {
  const { additional, conditions, properties } = pair.new;
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
  const excluding = direction === 'request' ? 'readOnly' : 'writeOnly';
  for (const field of properties.values()) {
    if (field.has(excluding)) return new Map([...properties].filter(([, one]) => !one.has(excluding)));
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
  const [wasOpen, isOpen] = [isUnconstrained(old), isUnconstrained(now)];
  if (wasOpen && isOpen) return;
  if (old && now && !wasOpen && !isOpen && old.schema.view.rejectsAll === now.schema.view.rejectsAll) {
    pair.comparePart(anyField, old.schema, now.schema);
    return;
  }
  const opens = isOpen || old?.schema.view.rejectsAll === true;
  const wasMap = pair.old.properties.size === 0 && old?.schema.view.rejectsAll === false;
  // The values of a map are the fields of a response.
  if (isConstrained(old) && now?.schema.view.rejectsAll && !pair.isRequest)
    pair.addChange('field', 'removed', '*', old.at, now.at);
  else if (opens && wasMap) pair.addChange('type', 'wider', 'additionalProperties', old?.at, now?.at);
  else pair.addChange('limit', opens ? 'wider' : 'narrower', 'additionalProperties', old?.at, now?.at);
}

function isConstrained(additional: SubschemaRef | undefined): additional is SubschemaRef {
  return additional !== undefined && !isUnconstrained(additional) && !additional.schema.view.rejectsAll;
}

function isUnconstrained(additional: SubschemaRef | undefined): boolean {
  return additional === undefined || additional.schema.parts.every(({ map }) => Object.keys(map).length === 0);
}

/** Compares the items of arrays: those of `prefixItems`, then all others. */
export function compareItems(pair: SchemaPair): void {
  const { old, new: now } = pair;
  const count = Math.max(old.prefixItems.length, now.prefixItems.length);
  for (let index = 0; index < count; index += 1) {
    const [before, after] = [itemAt(old, index), itemAt(now, index)];
    comparePresence(pair, index, before, after);
    if (before && after) pair.compareSubschemas({ kind: 'items', index }, before, after);
    else if (before || after)
      pair.addChange('limit', after ? 'narrower' : 'wider', 'prefixItems', before?.at, after?.at);
  }
  const [before, after] = [old.items, now.items];
  if (before && after) pair.compareSubschemas({ kind: 'items' }, before, after);
  else if (after && !acceptsAnyType(after.schema.view))
    pair.addChange('type', 'narrower', 'items', undefined, after.at);
  else if (before && !acceptsAnyType(before.schema.view))
    pair.addChange('type', 'wider', 'items', before.at, undefined);
}

/** Adds a change where `minItems` guaranteed an item of a response and no longer does. */
function comparePresence(pair: SchemaPair, index: number, before?: SubschemaRef, after?: SubschemaRef): void {
  const [least = 0, leastNow = 0] = [pair.old, pair.new].map(({ limits }) => limits.counts.get('minItems')?.is ?? 0);
  const isKept = after !== undefined && leastNow > index;
  if (pair.isRequest || before === undefined || least <= index || isKept) return;
  const [old, now] = [before.at, after?.at];
  addPart(
    pair.into,
    { kind: 'items', index },
    comparisonOf({ kind: 'presence', effect: 'optional', direction: 'response', name: '', old, new: now }),
  );
}

function itemAt(view: View, index: number): SubschemaRef | undefined {
  return view.prefixItems[index] ?? view.items;
}
