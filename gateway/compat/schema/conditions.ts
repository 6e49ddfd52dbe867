import { below, entriesOf, isMap, itemsOf, type Located } from '../document/located.ts';
import { canonical, isDocs } from './canonical.ts';
import { Held, type Sayings } from './held.ts';
import type { Schemas } from './schemas.ts';

/** A further demand, which may depend on what a value holds. */
export interface Condition {
  readonly held: Held;
  /** `held` itself has to be fulfilled, whenever the condition applies: a stricter one is a stricter schema. */
  readonly isDirect: boolean;
}

/** By what they are and when they apply: `contains`, `dependentSchemas/card`, `then` with the `if` it belongs to. */
export type Conditions = ReadonlyMap<string, Condition>;

const direct = ['contains', 'propertyNames', 'contentSchema'] as const;
const byName = ['dependentSchemas', 'patternProperties'] as const;
const keywords: ReadonlySet<string> = new Set([...direct, ...byName, 'not', 'if', 'dependentRequired']);
const none: Conditions = new Map();

export function conditionsOf(
  said: Sayings,
  parts: readonly { readonly located: Located }[],
  schemas: Schemas,
): Conditions {
  if (![...said.keys()].some((keyword) => keywords.has(keyword))) return none;
  const conditions = new Map<string, Condition>();
  const add = (name: string, at: Located, isDirect: boolean): void => {
    if (at.value === undefined) return;
    // What two parts of a schema say of the same has to be fulfilled at once.
    const said = conditions.get(name)?.held.all ?? [];
    conditions.set(name, { held: new Held([...said, at], schemas), isDirect });
  };
  for (const keyword of direct) for (const at of said.get(keyword) ?? []) add(keyword, at, true);
  const lists = (said.get('dependentRequired') ?? []).flatMap(entriesOf);
  for (const keyword of byName) {
    for (const [name, at] of (said.get(keyword) ?? []).flatMap(entriesOf)) {
      if (keyword === 'dependentSchemas' && isJustRequired(at)) lists.push([name, below(at, 'required')]);
      else add(`${keyword}/${name}`, at, true);
    }
  }
  for (const [index, at] of (said.get('not') ?? []).entries()) {
    if (isMap(at.value) && Object.keys(at.value).length > 0) add(`not/${index}`, at, false);
  }
  for (const { located } of parts) {
    const when = below(located, 'if');
    if (when.value === undefined) continue;
    add(`then (${canonical(when.value)})`, below(located, 'then'), true);
    add(`else (${canonical(when.value)})`, below(located, 'else'), true);
  }
  for (const [name, list] of lists) {
    for (const { value, place } of itemsOf(list)) {
      add(`dependentRequired/${name}/${String(value)}`, { value: { required: [value] }, place }, true);
    }
  }
  return conditions;
}

/** `dependentRequired` in the words of `dependentSchemas`. */
function isJustRequired({ value }: Located): boolean {
  return isMap(value) && Object.keys(value).every((key) => key === 'required' || isDocs(key));
}
