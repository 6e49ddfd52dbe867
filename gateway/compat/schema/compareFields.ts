import type { Direction, Step } from '../change.ts';
import type { Held } from './held.ts';
import type { Pair } from './pair.ts';
import type { View } from './view.ts';

/** The fields of objects: those with names, and the rest. */
export function compareFields(pair: Pair): void {
  const { old, new: now, context } = pair;
  const [before, after] = [travelling(old, context.direction), travelling(now, context.direction)];
  for (const [name, field] of before) {
    const kept = after.get(name);
    if (kept === undefined) tellRemoved(pair, name, field);
    else if (isEmptied(pair, field, kept)) pair.found('field', 'removed', name, field.at, kept.at);
    else pair.held({ kind: 'field', text: name }, field, kept);
  }
  for (const [name, field] of after) {
    if (before.has(name)) continue;
    pair.found('field', now.required.has(name) ? 'added_required' : 'added', name, undefined, field.at);
    // It could be there before, as one of those without a name.
    if (isTyped(old.additional)) pair.held({ kind: 'field', text: name }, old.additional, field);
  }
  comparePresence(pair, before, after);
  compareAdditional(pair);
}

function tellRemoved(pair: Pair, name: string, field: Held): void {
  const { additional, conditions, properties } = pair.new;
  const isClosed = additional?.schema.view.isNothing === true && conditions.size === 0 && !properties.has(name);
  const isRefused = isClosed && pair.context.direction === 'request';
  pair.found('field', isRefused ? 'refused' : 'removed', name, field.at, undefined);
  if (pair.context.direction === 'request' && isTyped(additional)) {
    pair.held({ kind: 'field', text: name }, field, additional);
  }
}

/** Nothing is left that a response could hold there. */
function isEmptied(pair: Pair, old: Held, now: Held): boolean {
  if (pair.context.direction === 'request' || pair.areTwins(old, now)) return false;
  return now.schema.view.isNothing && !old.schema.view.isNothing;
}

/** A field that is only read is no part of a request, and one that is only written none of a response. */
function travelling({ properties }: View, direction: Direction): ReadonlyMap<string, Held> {
  const hiding = direction === 'request' ? 'readOnly' : 'writeOnly';
  for (const field of properties.values()) {
    if (field.says(hiding)) return new Map([...properties].filter(([, one]) => !one.says(hiding)));
  }
  return properties;
}

function comparePresence(pair: Pair, before: ReadonlyMap<string, Held>, after: ReadonlyMap<string, Held>): void {
  const { old, new: now } = pair;
  for (const [name, at] of now.required) {
    const isNew = after.has(name) && !before.has(name);
    if (!isNew && !old.required.has(name) && !isHidden(name, now, after)) {
      pair.found('presence', 'required', name, before.get(name)?.at, at);
    }
  }
  for (const [name, at] of old.required) {
    const isGone = before.has(name) && !after.has(name);
    if (!isGone && !now.required.has(name) && !isHidden(name, old, before)) {
      pair.found('presence', 'optional', name, at, after.get(name)?.at);
    }
  }
}

/** Declared, but not for this direction. */
function isHidden(name: string, view: View, travels: ReadonlyMap<string, Held>): boolean {
  return view.properties.has(name) && !travels.has(name);
}

const anyField: Step = { kind: 'field', text: '*' };

function compareAdditional(pair: Pair): void {
  const [old, now] = [pair.old.additional, pair.new.additional];
  const [isOpen, staysOpen] = [takesAny(old), takesAny(now)];
  if (isOpen && staysOpen) return;
  if (old && now && !isOpen && !staysOpen && old.schema.view.isNothing === now.schema.view.isNothing) {
    pair.part(anyField, old.schema, now.schema);
    return;
  }
  const opens = staysOpen || old?.schema.view.isNothing === true;
  // A map whose values had a type may now hold anything.
  const isMap = pair.old.properties.size === 0 && old?.schema.view.isNothing === false;
  // In an answer, the values of a map are its fields.
  if (isTyped(old) && now?.schema.view.isNothing && pair.context.direction === 'response')
    pair.found('field', 'removed', '*', old.at, now.at);
  else if (opens && isMap) pair.found('type', 'wider', 'additionalProperties', old?.at, now?.at);
  else pair.found('limit', opens ? 'wider' : 'narrower', 'additionalProperties', old?.at, now?.at);
}

function isTyped(additional: Held | undefined): additional is Held {
  return additional !== undefined && !takesAny(additional) && !additional.schema.view.isNothing;
}

function takesAny(additional: Held | undefined): boolean {
  return additional === undefined || additional.schema.parts.every(({ map }) => Object.keys(map).length === 0);
}
