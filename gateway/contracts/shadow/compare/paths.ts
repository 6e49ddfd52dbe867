import { CompareError } from '../../../contract/failure.ts';
import type { Schema, SubschemaRef } from '../../../contract/schema/schema.ts';
import { isMap, pointerToken } from '../../../shared/json.ts';
import type { Listing } from '../../../usage/usageRow.ts';
import type { ShapeType } from './validation.ts';

/** The schemas that may describe a value: several if there is a choice or an `allOf`. Undefined: the body has no schema. */
type PossibleSchemas = readonly Schema[] | undefined;

// Values that are nested deeper are not compared.
const deepestPath = 32;
// How many fields of one object are recorded although no contract lists them. Further fields are recorded as `*`, because the object
// is probably a map.
const maxUnlisted = 64;

/** Limits the paths that are recorded for one route and status, because a backend may send new field names in each body. */
export interface PathBudget {
  /** How many more paths may be recorded. */
  left: number;
  /** Whether a path was left out. */
  isExceeded: boolean;
}

/**
 * A path in the bodies of one route and status. Names that may be data are replaced by `*`: the items of a list, the keys of a map, and
 * keys that no contract lists and that look like identifiers.
 */
export class BodyPath {
  /** As in a JSON Pointer: `/drinks/*`. */
  readonly text: string;
  readonly oldListing: Listing;
  readonly newListing: Listing;
  /** The types that were seen at this path, in the old or the new responses. */
  readonly types = new Set<ShapeType>();
  readonly #oldSchemas: PossibleSchemas;
  readonly #newSchemas: PossibleSchemas;
  readonly #budget: PathBudget;
  readonly #depth: number;
  /** `.name` for a field, or `*` → the path. */
  readonly #children = new Map<string, BodyPath>();
  #unlistedCount = 0;

  private constructor(
    text: string,
    [oldListing, newListing]: readonly [Listing, Listing],
    [oldSchemas, newSchemas]: readonly [PossibleSchemas, PossibleSchemas],
    budget: PathBudget,
    depth: number,
  ) {
    this.text = text;
    this.oldListing = oldListing;
    this.newListing = newListing;
    this.#oldSchemas = oldSchemas;
    this.#newSchemas = newSchemas;
    this.#budget = budget;
    this.#depth = depth;
  }

  /** The whole body. */
  static root(oldSchema: Schema | undefined, newSchema: Schema | undefined, budget: PathBudget): BodyPath {
    const listing = (schema: Schema | undefined): Listing => (schema ? 'required' : 'no schema');
    return new BodyPath(
      '',
      [listing(oldSchema), listing(newSchema)],
      [oldSchema && orNone(() => withAlternatives(oldSchema)), newSchema && orNone(() => withAlternatives(newSchema))],
      budget,
      0,
    );
  }

  /** The path of the items of a list; undefined if it is not recorded. */
  items(): BodyPath | undefined {
    return this.#child('*', itemSchemas);
  }

  /** The path of a field; undefined if it is not recorded. */
  field(key: string): BodyPath | undefined {
    const existing = this.#children.get(`.${key}`);
    if (existing) return existing;
    const schemasOfField = (schema: Schema): readonly SubschemaRef[] | undefined => {
      const field = schema.view.properties.get(key);
      return field && [field];
    };
    const isListed = [this.#oldSchemas, this.#newSchemas].some((one) =>
      one?.some((schema) => schemasOfField(schema) !== undefined),
    );
    if (isListed) return this.#child(`.${key}`, schemasOfField, key);
    if (this.#isMap() || !looksLikeName(key)) return this.#child('*', entrySchemas);
    this.#unlistedCount += 1;
    return this.#unlistedCount > maxUnlisted
      ? this.#child('*', entrySchemas)
      : this.#child(`.${key}`, schemasOfField, key);
  }

  /** The recorded paths directly below this one. */
  get children(): Iterable<BodyPath> {
    return this.#children.values();
  }

  /** Adds the paths below this one that the contracts list. A schema that contains itself is added once. */
  addListed(ancestors: ReadonlySet<Schema> = new Set()): void {
    const schemas = [...(this.#oldSchemas ?? []), ...(this.#newSchemas ?? [])];
    if (schemas.some((schema) => ancestors.has(schema))) return;
    const ancestorsAndThese = new Set([...ancestors, ...schemas]);
    for (const key of new Set(schemas.flatMap(({ view }) => [...view.properties.keys()])))
      this.field(key)?.addListed(ancestorsAndThese);
    if (schemas.some((schema) => itemSchemas(schema).length > 0)) this.items()?.addListed(ancestorsAndThese);
  }

  /** Whether a contract describes the object as a map, whose keys are data. */
  #isMap(): boolean {
    return [this.#oldSchemas, this.#newSchemas].some((one) => one?.some((schema) => entrySchemas(schema).length > 0));
  }

  #child(
    key: string,
    schemasBelow: (schema: Schema) => readonly SubschemaRef[] | undefined,
    name = '*',
  ): BodyPath | undefined {
    const existing = this.#children.get(key);
    if (existing) return existing;
    if (this.#depth >= deepestPath || this.#budget.left <= 0) {
      this.#budget.isExceeded = true;
      return undefined;
    }
    this.#budget.left -= 1;
    const childSchemas = [this.#oldSchemas, this.#newSchemas].map((schemas) => schemasOfChild(schemas, schemasBelow));
    const listings = [this.oldListing, this.newListing].map((listing, index) =>
      listingOfChild(listing, [this.#oldSchemas, this.#newSchemas][index], childSchemas[index], name),
    );
    const text = `${this.text}/${pointerToken(name)}`;
    const child = new BodyPath(
      text,
      listings as [Listing, Listing],
      childSchemas as [PossibleSchemas, PossibleSchemas],
      this.#budget,
      this.#depth + 1,
    );
    this.#children.set(key, child);
    return child;
  }
}

function schemasOfChild(
  schemas: PossibleSchemas,
  schemasBelow: (schema: Schema) => readonly SubschemaRef[] | undefined,
): PossibleSchemas {
  const below = schemas?.flatMap((schema) => schemasBelow(schema) ?? []);
  return below && [...new Set(below.flatMap((one) => orNone(() => withAlternatives(one.schema))))];
}

function listingOfChild(parent: Listing, schemas: PossibleSchemas, below: PossibleSchemas, name: string): Listing {
  if (parent === 'no schema' || parent === 'unlisted') return parent;
  if (below === undefined || below.length === 0) return 'unlisted';
  if (name === '*') return 'optional';
  const owners = schemas?.filter((schema) => schema.view.properties.has(name)) ?? [];
  return owners.every((schema) => schema.view.required.has(name)) ? 'required' : 'optional';
}

/** A schema and the alternatives of its choices, at most about 100 schemas. @throws CompareError for a broken `$ref` */
function withAlternatives(schema: Schema, into = new Set<Schema>()): Schema[] {
  if (into.has(schema) || into.size > 100) return [];
  into.add(schema);
  for (const { alternatives } of schema.view.choices)
    for (const one of alternatives) withAlternatives(one.schema, into);
  return [...into];
}

/** A schema with a broken `$ref` describes nothing. */
function orNone(schemas: () => Schema[]): Schema[] {
  try {
    return schemas();
  } catch (error) {
    if (error instanceof CompareError) return [];
    throw error;
  }
}

function itemSchemas({ view }: Schema): readonly SubschemaRef[] {
  return view.items ? [...view.prefixItems, view.items] : view.prefixItems;
}

/**
 * The schemas of the entries of a map. Empty if the object is not a map. A schema describes a map if it has `patternProperties`, or
 * if it restricts the values of unlisted fields.
 */
function entrySchemas({ view }: Schema): readonly SubschemaRef[] {
  const { additional } = view;
  const value = additional?.at.value;
  const patterns = [...view.conditions]
    .filter(([name]) => name.startsWith('patternProperties/'))
    .map(([, one]) => one.ref);
  const isAnyValue = value === true || (isMap(value) && Object.keys(value).length === 0);
  if (additional === undefined || value === false || isAnyValue) return patterns;
  return [...patterns, additional];
}

/** Whether a key that no contract lists may be stored: it looks like the name of a field, and not like an identifier. */
export function looksLikeName(key: string): boolean {
  if (!/^[@$_]{0,2}[A-Za-z][\w$:-]{0,47}$/.test(key) || key.includes('::')) return false;
  const digits = key.match(/\d/g)?.length ?? 0;
  const isHash = /^[\da-f]{8,}$/i.test(key) && digits > 0;
  const letterDigitChanges = key.match(/[a-z]\d|\d[a-z]/gi)?.length ?? 0;
  return digits < 3 && !isHash && letterDigitChanges < 3 && !isMixed(key);
}

/** Whether a part of a key changes between small letters, capitals and digits more often than words do: `QWxhZGRpbjpvcGVu`. */
function isMixed(key: string): boolean {
  const wordStart = /(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=\d)|(?<=\d)(?=[A-Za-z])/;
  return key.split(/[^A-Za-z\d]/).some((part) => {
    const wordCount = part.split(wordStart).length;
    return part.length >= 12 && wordCount >= 6 && part.length < 3 * wordCount;
  });
}
