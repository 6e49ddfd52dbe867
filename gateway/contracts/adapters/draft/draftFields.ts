import type { Keys } from '../../../config/adapterSettings.ts';
import type { NamedSchemas, PlainSchema, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { propertiesOf, requiredOf, typesOf, unionOf } from '../proof/branches.ts';
import {
  type Certainty,
  draftAlternatives,
  isObject,
  isSimilar,
  kindOf,
  likenessOf,
  likenessOfNames,
  type NamedSchemasPair,
} from './draftValues.ts';

/** A named field of an object. */
export interface Field {
  readonly keys: Keys;
  readonly schema: SubSchema;
  readonly isRequired: boolean;
}

/** A field that the receiving contract does not have. */
export interface SpareField extends Field {
  /** Whether the receiving contract accepts no other fields. */
  readonly isForbidden: boolean;
  /** Whether all fields within it have been moved elsewhere. */
  readonly isEmptied: boolean;
}

/** The named fields of objects. A field is required if all alternatives require it. Key: its name. */
export function fieldsOf(branches: readonly PlainSchema[], at: Keys): Map<string, Field> {
  const names = new Set(branches.flatMap((branch) => Object.keys(propertiesOf(branch))));
  return new Map(
    [...names].map((name) => {
      const schemas = branches.flatMap((branch) => {
        const properties = propertiesOf(branch);
        return Object.hasOwn(properties, name) ? [properties[name] ?? true] : [];
      });
      const isRequired = branches.every((branch) => requiredOf(branch).includes(name));
      return [name, { keys: [...at, name], schema: unionOf(schemas), isRequired }];
    }),
  );
}

export interface FieldRename {
  readonly from: string;
  readonly to: string;
  readonly certainty: Certainty;
  readonly note: string;
}

/** Name of a field → the field. */
type Fields = ReadonlyMap<string, Field>;

/**
 * Pairs the fields that only one side has: first the known pairs, then fields with similar names, then fields that are the only
 * ones of their kind.
 */
export function renamesFor(
  fields: Fields,
  wanted: Fields,
  context: NamedSchemasPair & { readonly receiver: string },
  knownRenames: ReadonlyMap<string, string> = new Map(),
): FieldRename[] {
  const spare = new Map([...fields].filter(([name]) => !wanted.has(name)));
  const missing = new Map([...wanted].filter(([name]) => !fields.has(name)));
  const renames: FieldRename[] = [];
  const take = (rename: FieldRename): void => {
    renames.push(rename);
    spare.delete(rename.from);
    missing.delete(rename.to);
  };
  for (const [from, to] of knownRenames) if (spare.has(from)) take({ from, to, certainty: 'certain', note: '' });
  for (const { from, to, nameLikeness } of similarPairs(spare, missing, context)) {
    if (!spare.has(from) || !missing.has(to)) continue;
    const isSure = nameLikeness === 1;
    take({ from, to, certainty: isSure ? 'certain' : 'guess', note: isSure ? '' : `${from} → ${to}, by their names` });
  }
  for (const to of [...missing.keys()]) {
    const rename = renameOfOnlyField(to, spare, missing, context);
    if (rename) take(rename);
  }
  return renames;
}

/** The most similar pairs first. `nameLikeness`: 0 to 1. */
function similarPairs(
  spare: Fields,
  missing: Fields,
  context: NamedSchemasPair,
): { from: string; to: string; nameLikeness: number }[] {
  const pairs = [...spare].flatMap(([from, field]) =>
    [...missing].flatMap(([to, other]) => {
      const nameLikeness = likenessOfNames(from, to);
      const likeness = isSimilar(from, to) ? likenessOf(field.schema, other.schema, context) : undefined;
      const score =
        nameLikeness + (likeness === 'same' ? 0.25 : 0) + (field.isRequired === other.isRequired ? 0.05 : 0);
      return likeness ? [{ from, to, nameLikeness, score }] : [];
    }),
  );
  return pairs.sort((a, b) => b.score - a.score);
}

/** The rename to `to`, if exactly one field can be its source. */
function renameOfOnlyField(
  to: string,
  spare: Fields,
  missing: Fields,
  context: NamedSchemasPair & { readonly receiver: string },
): FieldRename | undefined {
  const target = missing.get(to);
  if (!target) return undefined;
  const mayBecome = (field: Field, other: Field): boolean => {
    if ((other.isRequired && !field.isRequired) || isEnvelope(field, other, context)) return false;
    const likeness = likenessOf(field.schema, other.schema, context);
    // A convertible list is also a candidate. Other convertible values are not: nearly all can be converted to each other.
    return (
      likeness === 'same' || (likeness === 'convertible' && isList(field, context.from) && isList(other, context.to))
    );
  };
  const candidates = [...spare].filter(([, field]) => mayBecome(field, target));
  const required = candidates.filter(([, field]) => field.isRequired);
  const [found, ...others] = candidates.length > 1 ? required : candidates;
  if (!found || others.length > 0) return undefined;
  const [from, field] = found;
  // A rival is another missing field that `from` could become. If the target is required, an optional field is no rival.
  const rivals = [...missing].filter(
    ([name, other]) => name !== to && mayBecome(field, other) && (other.isRequired || !target.isRequired),
  );
  if (rivals.length > 0) return undefined;
  const kind = `${target.isRequired ? 'required ' : ''}${kindOf(field.schema, context.from)}`;
  // A target that may be absent needs no counterpart, so this rename may be wrong.
  const certainty = target.isRequired ? 'guess' : 'undecided';
  return {
    from,
    to,
    certainty,
    note: `\`${from}\` is the only ${kind} that ${context.receiver} does not have`,
  };
}

/** Whether one of the two fields is an object that contains a field with the name of the other, and so probably wraps it. */
function isEnvelope(field: Field, other: Field, { from, to }: NamedSchemasPair): boolean {
  const hasField = ({ schema }: Field, named: NamedSchemas, name = ''): boolean =>
    draftAlternatives(schema, named).some((one) => Object.hasOwn(propertiesOf(one), name));
  return hasField(field, from, other.keys.at(-1)) || hasField(other, to, field.keys.at(-1));
}

function isList({ schema }: Field, named: NamedSchemas): boolean {
  return draftAlternatives(schema, named).some((one) => typesOf(one)?.join() === 'array');
}

export interface FieldMove {
  readonly source: Field;
  readonly target: Field;
  readonly certainty: Certainty;
  readonly note: string;
}

/**
 * Pairs fields at different depths. A pair is certain if both paths have the same letters, as `/address/city` and `/addressCity`. A
 * pair is a guess if the paths differ, but the names at their ends have the same letters. For a guess, each side must have exactly one
 * outermost field with such a name. Also returns the fields without a pair.
 */
export function movedFields(
  spare: readonly SpareField[],
  missing: readonly Field[],
  context: NamedSchemasPair,
): { readonly moves: FieldMove[]; readonly missing: Field[]; readonly spare: SpareField[] } {
  const sources = spare.flatMap((field) => withInnerFields(field, context.from));
  const targets = missing.flatMap((field) => withInnerFields(field, context.to));
  const moves: FieldMove[] = [];
  /** Whether the field, a field around it or a field within it is moved. */
  const isMoved = ({ keys }: Field, side: 'source' | 'target'): boolean =>
    moves.some((move) => isWithin(keys, move[side].keys) || isWithin(move[side].keys, keys));
  for (const target of targets) {
    if (moves.some((move) => isWithin(target.keys, move.target.keys))) continue;
    const freeSources = sources.filter((one) => !isMoved(one, 'source') && one.keys.length !== target.keys.length);
    const sourcesWithPath = freeSources.filter(
      ({ keys }) => likenessOfNames(keys.join(' '), target.keys.join(' ')) === 1,
    );
    const name = target.keys.at(-1) ?? '';
    const sourcesWithName = freeSources.filter(({ keys }) => likenessOfNames(keys.at(-1) ?? '', name) === 1);
    const outermostSources = leastNested(sourcesWithName);
    const outermostTargets = leastNested(targets.filter(({ keys }) => likenessOfNames(keys.at(-1) ?? '', name) === 1));
    const isOnlyTarget = outermostTargets.length === 1 && outermostTargets[0] === target;
    const isSure = sourcesWithPath.length === 1;
    const [source, ...others] = isSure ? sourcesWithPath : outermostSources;
    if (!source || others.length > 0 || (!isSure && !isOnlyTarget)) continue;
    if (!likenessOf(source.schema, target.schema, context)) continue;
    const note = `the ${sourcesWithName.length > 1 ? 'outermost' : 'only'} ${name}`;
    moves.push({ source, target, certainty: isSure ? 'certain' : 'guess', note: isSure ? '' : note });
  }
  return {
    moves,
    // If some fields of an object are moved, its other fields are listed one by one.
    missing: missing.flatMap((field) =>
      isMoved(field, 'target') ? withInnerFields(field, context.to).filter((one) => !isMoved(one, 'target')) : [field],
    ),
    spare: spare.flatMap((field) => {
      if (moves.some(({ source }) => isWithin(field.keys, source.keys))) return [];
      const fieldAndInner = withInnerFields(field, context.from);
      // The fields that contain no other field.
      const leaves = fieldAndInner.filter(({ keys }) =>
        fieldAndInner.every((one) => one.keys === keys || !isWithin(one.keys, keys)),
      );
      const isEmptied = leaves.every((leaf) => moves.some(({ source }) => isWithin(leaf.keys, source.keys)));
      return [{ ...field, isEmptied }];
    }),
  };
}

/** The fields that are within the fewest objects. */
function leastNested(fields: readonly Field[]): Field[] {
  const least = Math.min(...fields.map(({ keys }) => keys.length));
  return fields.filter(({ keys }) => keys.length === least);
}

/** The field and the named fields within it. */
function withInnerFields(field: Field, named: NamedSchemas, depth = 0): Field[] {
  const branches = draftAlternatives(field.schema, named);
  if (depth > 3 || branches.length !== 1 || !branches.every(isObject)) return [field];
  const inner = [...fieldsOf(branches, field.keys).values()].map((one) => ({
    ...one,
    isRequired: one.isRequired && field.isRequired,
  }));
  return [field, ...inner.flatMap((one) => withInnerFields(one, named, depth + 1))];
}

function isWithin(keys: Keys, outer: Keys): boolean {
  return outer.length <= keys.length && outer.every((key, index) => key === keys[index]);
}
