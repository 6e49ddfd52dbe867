import { isList } from '../document/located.ts';
import { type NamedSchemas, type PlainSchema, refPrefix, type SubSchema } from './jsonSchema.ts';

const maxAlternatives = 64;

/** A schema has more alternatives than can be followed. */
export class TooManyAlternatives extends Error {
  override readonly name = 'TooManyAlternatives';
}

/** How a reader represents one alternative. */
export interface AlternativeForm<Alternative> {
  /** The alternative of a schema by its own keywords, without `$ref`, `allOf`, `oneOf` and `anyOf`. */
  readonly of: (schema: PlainSchema, own: PlainSchema) => Alternative;
  /** The alternative of values that are valid for both. Undefined: there are none. */
  readonly both: (one: Alternative, other: Alternative) => Alternative | undefined;
  /** Further alternatives of a schema with a discriminator and without a choice. Default: none. */
  readonly ofDiscriminator?: (schema: PlainSchema, seenRefs: readonly string[]) => readonly Alternative[];
}

/**
 * The alternatives of a schema: a value is valid if it is valid for one of them. `$ref`, `allOf`, `oneOf` and `anyOf` are followed. A
 * `$ref` in `seenRefs` adds nothing. `oneOf` is read as `anyOf`, so the alternatives may allow more than the schema.
 * @throws TooManyAlternatives
 */
export function alternativesOf<Alternative>(
  schema: SubSchema,
  named: NamedSchemas,
  form: AlternativeForm<Alternative>,
  seenRefs: readonly string[] = [],
): readonly Alternative[] {
  if (schema === false) return [];
  if (schema === true) return [form.of({}, {})];
  const { $ref, allOf, oneOf, anyOf, ...own } = schema;
  const parts: (readonly Alternative[])[] = [[form.of(schema, own)]];
  if (typeof $ref === 'string' && !seenRefs.includes($ref))
    parts.push(alternativesOf(named[$ref.slice(refPrefix.length)] ?? true, named, form, [...seenRefs, $ref]));
  for (const one of listOf(allOf)) parts.push(alternativesOf(one, named, form, seenRefs));
  for (const choice of [oneOf, anyOf])
    if (choice !== undefined) parts.push(listOf(choice).flatMap((one) => alternativesOf(one, named, form, seenRefs)));
  if (own['discriminator'] !== undefined && oneOf === undefined && anyOf === undefined && form.ofDiscriminator)
    parts.push(form.ofDiscriminator(schema, seenRefs));
  return inAllCombinations(parts, form);
}

/** One alternative of each list, in all combinations. @throws TooManyAlternatives */
export function inAllCombinations<Alternative>(
  lists: readonly (readonly Alternative[])[],
  { both }: Pick<AlternativeForm<Alternative>, 'both'>,
): readonly Alternative[] {
  return lists.reduce((combined, list) => {
    if (combined.length * list.length > maxAlternatives) throw new TooManyAlternatives();
    return combined.flatMap((one) => list.map((other) => both(one, other)).filter((merged) => merged !== undefined));
  });
}

export function listOf(value: unknown): readonly SubSchema[] {
  return isList(value) ? (value as readonly SubSchema[]) : [];
}
