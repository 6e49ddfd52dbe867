import { entriesOf, isList, isMap, itemsOf, type Located } from '../document/located.ts';
import { canonical } from './canonical.ts';
import { type Conditions, conditionsOf } from './conditions.ts';
import { applying } from './foreign.ts';
import { type Group, type Groups, groupsOf, valuesOf } from './groups.ts';
import { Held, type Sayings, sayingsOf } from './held.ts';
import { refusesNull, withoutIdle } from './idle.ts';
import { isNullable, isNullUnlisted, type JsonType, typesOf } from './jsonTypes.ts';
import { type Limits, limitsOf } from './limits.ts';
import type { Schema } from './schema.ts';
import type { Schemas } from './schemas.ts';

/** What a schema says, with `allOf` merged, `$ref`s followed and null taken out of the types. */
export interface View {
  /** Without null; undefined: any. Told from the other keywords where `type` is missing. */
  readonly types: ReadonlySet<JsonType> | undefined;
  readonly nullable: boolean;
  /** Null is said to be let through, and is none of the values that are listed. */
  readonly isNullUnlisted: boolean;
  /** Nothing fulfils it. */
  readonly isNothing: boolean;
  /** Of `enum` and `const`, but for null: the value as JSON, in the order in which they stand. */
  readonly values: ReadonlyMap<string, Located> | undefined;
  readonly limits: Limits;
  readonly properties: ReadonlyMap<string, Held>;
  readonly required: ReadonlyMap<string, Located>;
  /** Of the fields that have no name in the schema; undefined: any. */
  readonly additional: Held | undefined;
  readonly items: Held | undefined;
  readonly prefixItems: readonly Held[];
  readonly groups: Groups;
  readonly conditions: Conditions;
  /** Where the first part that has the keyword says it. */
  at(keyword: string): Located | undefined;
}

const none: ReadonlyMap<string, never> = new Map<string, never>();
const noChoice: readonly Group[] = [];

export function viewOf(schema: Schema, schemas: Schemas): View {
  const stated = sayingsOf(schema.parts);
  const all = withoutIdle(stated);
  const said = all.has('type') ? applying(all, typesOf(all, undefined)) : all;
  const groups = said.has('oneOf') || said.has('anyOf') ? groupsOf(schema, schemas) : noChoice;
  const lists = groups.map(valuesOf);
  const values = enumerated(
    said,
    lists.filter((list) => list !== undefined),
  );
  return {
    types: typesOf(said, values),
    nullable: isNullable(schema, schemas) && !refusesNull(stated),
    isNullUnlisted: isNullUnlisted(schema),
    isNothing: said.get('not')?.some(isAnyValue) ?? false,
    values,
    limits: limitsOf(schema.parts, said),
    properties: propertiesOf(said, schemas),
    required: requiredOf(said),
    additional: held(said.get('additionalProperties') ?? said.get('unevaluatedProperties'), schemas),
    ...arrayOf(said, schemas),
    groups: groups.filter((_group, index) => lists[index] === undefined),
    conditions: conditionsOf(said, schema.parts, schemas),
    at: (keyword) => said.get(keyword)?.[0],
  };
}

function held(located: readonly Located[] | undefined, schemas: Schemas): Held | undefined {
  return located && new Held(located, schemas);
}

function isAnyValue({ value }: Located): boolean {
  return value === true || (isMap(value) && Object.keys(value).length === 0);
}

function propertiesOf(said: Sayings, schemas: Schemas): ReadonlyMap<string, Held> {
  const maps = said.get('properties');
  if (maps === undefined) return none;
  const [first] = maps;
  if (maps.length === 1 && first) {
    const fields = new Map<string, Held>();
    for (const [name, schema] of entriesOf(first)) fields.set(name, new Held([schema], schemas));
    return fields;
  }
  const named = new Map<string, Located[]>();
  for (const [name, schema] of maps.flatMap(entriesOf)) {
    const known = named.get(name);
    if (known) known.push(schema);
    else named.set(name, [schema]);
  }
  return new Map([...named].map(([name, located]) => [name, new Held(located, schemas)]));
}

function requiredOf(said: Sayings): ReadonlyMap<string, Located> {
  const lists = said.get('required');
  if (lists === undefined) return none;
  const required = new Map<string, Located>();
  for (const name of lists.flatMap(itemsOf)) if (typeof name.value === 'string') required.set(name.value, name);
  return required;
}

/** What every `enum` and `const` of the parts lets through, and every choice between values. */
function enumerated(said: Sayings, chosen: readonly (readonly Located[])[]): ReadonlyMap<string, Located> | undefined {
  const enums = (said.get('enum') ?? []).filter(({ value }) => isList(value)).map(itemsOf);
  const lists = [...enums, ...(said.get('const') ?? []).map((constant) => [constant]), ...chosen];
  if (lists.length === 0) return undefined;
  const maps = lists.map((list) => new Map(list.map((item) => [canonical(item.value), item] as const)));
  const [first = none, ...others] = maps;
  return new Map([...first].filter(([text]) => text !== 'null' && others.every((other) => other.has(text))));
}

/** `items` is a list in JSON Schema before 2020-12, and `additionalItems` then what `items` is since. */
function arrayOf(said: Sayings, schemas: Schemas): Pick<View, 'items' | 'prefixItems'> {
  const items = said.get('items') ?? [];
  const [list] = [...(said.get('prefixItems') ?? []), ...items].filter(({ value }) => isList(value));
  const rest = items.filter(({ value }) => !isList(value));
  const others = rest.length > 0 ? rest : ((list && said.get('additionalItems')) ?? said.get('unevaluatedItems'));
  const prefixItems = list ? itemsOf(list).map((at) => new Held([at], schemas)) : [];
  return { items: held(others, schemas), prefixItems };
}
