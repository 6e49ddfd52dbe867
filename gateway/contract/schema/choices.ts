import { below, entriesOf, itemsOf, type Located, refOf } from '../document/located.ts';
import {
  canonicalJson,
  canonicalJsonWithoutDocs,
  inapplicableKeywords,
  isDocs,
  isWithin,
  type JsonType,
} from './keywords.ts';
import type { Alternative, Choice, Schema, SchemaLookup, View } from './schema.ts';

/**
 * The `oneOf`s and `anyOf`s of all parts of a schema. The parts are the schema object and those in its `allOf`. Left out: a
 * choice with one alternative, which is merged into the schema.
 */
export function choicesOf(schema: Schema, lookup: SchemaLookup): readonly Choice[] {
  return schema.parts.flatMap((part) =>
    (['oneOf', 'anyOf'] as const).flatMap((keyword) => {
      if (!Array.isArray(part.map[keyword])) return [];
      const alternatives = lookup.alternatives(part, keyword).map((at) => alternativeOf(at, lookup));
      return alternatives.length < 2 ? [] : [{ keyword, alternatives, at: below(part.located, keyword) }];
    }),
  );
}

function alternativeOf(at: Located, lookup: SchemaLookup): Alternative {
  const schema = lookup.schemaAt(at);
  const title = schema.parts[0]?.map['title'];
  return { schema, at, ref: refOf(at.value), title: typeof title === 'string' && title !== '' ? title : undefined };
}

/**
 * The values of a choice whose alternatives are all constants. Contracts write such a choice instead of an `enum` to describe
 * each value. Undefined for any other choice.
 */
export function enumValuesOf({ keyword, alternatives }: Choice): Located[] | undefined {
  const values: Located[] = [];
  const counts = new Map<string, number>();
  for (const { schema } of alternatives) {
    const [part, ...others] = schema.parts;
    if (!part || others.length > 0 || !Object.keys(part.map).every(isEnumKeyword)) return undefined;
    const list =
      part.map['const'] === undefined ? itemsOf(below(part.located, 'enum')) : [below(part.located, 'const')];
    if (list.length === 0) return undefined;
    values.push(...list);
    for (const text of new Set(list.map(({ value }) => canonicalJson(value))))
      counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  // A `oneOf` rejects the values that two alternatives have in common.
  return keyword === 'oneOf' ? values.filter(({ value }) => counts.get(canonicalJson(value)) === 1) : values;
}

function isEnumKeyword(keyword: string): boolean {
  return keyword === 'const' || keyword === 'enum' || keyword === 'type' || isDocs(keyword);
}

/** The same text for alternatives with the same constraints, whatever their descriptions and their place. */
export function contentKey({ schema }: Alternative): string {
  return canonicalJsonWithoutDocs(schema.located.value);
}

/**
 * The types of all valid values, including those of the alternatives; undefined: any type. `seen`: results so far. They
 * end the recursion if an alternative contains the choice itself, and avoid exponential time for nested choices.
 */
export function unionOfTypes(
  schema: Schema,
  seen = new Map<Schema, ReadonlySet<JsonType> | undefined>(),
): ReadonlySet<JsonType> | undefined {
  if (seen.has(schema)) return seen.get(schema);
  const { types, choices, rejectsAll } = schema.view;
  if (rejectsAll) return noTypes;
  // A valid value satisfies every choice, so the types of the first choice include the types of all valid values.
  const [choice] = choices;
  seen.set(schema, choice === undefined ? types : noTypes);
  if (choice === undefined) return types;
  const union = new Set<JsonType>();
  let isAny = false;
  for (const alternative of choice.alternatives) {
    const alternativeTypes = unionOfTypes(alternative.schema, seen);
    if (alternativeTypes === undefined) isAny = true;
    else for (const type of alternativeTypes) union.add(type);
  }
  const result = !isAny && (types === undefined || isWithin(union, types)) ? union : types;
  seen.set(schema, result);
  return result;
}

const noTypes: ReadonlySet<JsonType> = new Set();

/** Whether a schema accepts every type, and null. */
export function acceptsAnyType({ types, choices, rejectsAll }: View): boolean {
  return types === undefined && choices.length === 0 && !rejectsAll;
}

/** Whether a schema accepts every value. */
export function acceptsAnyValue(view: View): boolean {
  const { lower, upper, counts, jsonValues } = view.limits;
  const limitCount = Number(lower !== undefined) + Number(upper !== undefined) + counts.size + jsonValues.size;
  return acceptsAnyType(view) && limitCount === 0 && view.conditions.size === 0;
}

// Several choices in an `allOf` multiply.
const maxCombinations = 64;
// Nested choices also multiply, and the expansion of a recursive choice would never end.
const deepestNesting = 8;
const maxSteps = 256;

/**
 * The schemas without choices that accept the same values: one for each combination of alternatives and each JSON type except null.
 * Undefined: there are too many.
 */
export function expandAlternatives(schema: Schema): Schema[] | undefined {
  return expandWithin(schema, [], { steps: maxSteps });
}

/** `outer`: the schemas whose choices contain this schema. `remaining`: the steps that may still be taken. */
function expandWithin(schema: Schema, outer: readonly Schema[], remaining: { steps: number }): Schema[] | undefined {
  remaining.steps -= 1;
  if (remaining.steps < 0) return undefined;
  const { choices } = schema.view;
  if (choices.length === 0 || outer.length > deepestNesting) return splitByType(schema);
  const outerAndSelf = [...outer, schema];
  const combinationCount = choices.reduce((product, { alternatives }) => product * alternatives.length, 1);
  if (combinationCount > maxCombinations) return undefined;
  const combinations = choices.reduce<Located[][]>(
    (lists, { alternatives }) =>
      lists.flatMap((list) =>
        // An alternative that is the choice itself adds nothing.
        alternatives.filter((one) => !outerAndSelf.includes(one.schema)).map(({ at }) => [...list, at]),
      ),
    [[]],
  );
  const expanded = new Set<Schema>();
  for (const combination of combinations) {
    const expansion = expandWithin(schema.withAlternatives(combination), outerAndSelf, remaining);
    if (expansion === undefined || expanded.size + expansion.length > maxCombinations) return undefined;
    for (const one of expansion) expanded.add(one);
  }
  return [...expanded];
}

function splitByType(schema: Schema): Schema[] {
  const { types, nullable } = schema.view;
  if (types === undefined || (types.size === 1 && !nullable)) return [schema];
  const distinct = [...types].filter((type) => type !== 'integer' || !types.has('number'));
  return distinct.map((type) => schema.narrowedTo(type, inapplicableKeywords[type]));
}

/** The `mapping` of the discriminator: its values and their targets. */
export function mappingOf(view: View): ReadonlyMap<string, Located> {
  const discriminator = view.at('discriminator');
  return new Map(discriminator ? entriesOf(below(discriminator, 'mapping')) : []);
}

/** `#/components/schemas/Cat` and `Cat` are the same target. A file is named by its path: several folders may have a `schema.yaml`. */
export function targetNameOf(target: unknown): string {
  const text = String(target);
  return text.replace(text.includes('#') ? /^.*\//s : /^(?:\.\/)+/, '');
}

/** The schemas that the discriminator chooses from, by name. */
export function choiceTargets(schema: Schema): ReadonlyMap<string, Located> {
  if (schema.view.choices.length === 0) {
    // The mapping of a subtype is that of its base schema, and also contains other subtypes.
    const mappingTargets = schema.isSubtype ? [] : [...mappingOf(schema.view).values()];
    return new Map([
      ...schema.subtypes,
      ...mappingTargets.map((target) => [targetNameOf(target.value), target] as const),
    ]);
  }
  return new Map(
    alternativesOf(schema).flatMap(({ ref, at }) => (ref === undefined ? [] : [[targetNameOf(ref), at] as const])),
  );
}

/** The values of the discriminator: those in the mapping, and the name of each alternative that the mapping omits. */
export function discriminatorValuesOf(schema: Schema): ReadonlyMap<string, Located> {
  const mapping = mappingOf(schema.view);
  const mappedNames = new Set([...mapping.values()].map(({ value }) => targetNameOf(value)));
  const names = alternativesOf(schema)
    .filter((one) => isChosenByName(one, schema) && !mappedNames.has(targetNameOf(one.ref)))
    .map(({ ref = '', at }) => [targetNameOf(ref), { ...at, value: ref }] as const);
  return new Map([...names, ...mapping]);
}

/**
 * Whether the name of an alternative is its value of the discriminator: the alternative is a component, and the discriminating
 * field has no `enum` or `const`.
 */
function isChosenByName({ ref, schema }: Alternative, whole: Schema): boolean {
  if (ref === undefined || !/#\/components\/schemas\/[^/]+$/.test(ref)) return false;
  const discriminator = whole.view.at('discriminator');
  const field = schema.view.properties.get(String(discriminator && below(discriminator, 'propertyName').value));
  return field?.schema.view.enumValues === undefined;
}

function alternativesOf({ view }: Schema): Alternative[] {
  return view.choices.flatMap(({ alternatives }) => alternatives);
}
