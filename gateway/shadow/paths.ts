import { isMap } from '../compat/document/located.ts';
import { CompareError } from '../compat/failure.ts';
import type { Schema, SubschemaRef } from '../compat/schema/schema.ts';
import type { ShapeType } from './validation.ts';

/** What a contract states about a path in a body. `no schema`: it has no schema for the whole body. */
export type Listing = 'no schema' | 'required' | 'optional' | 'unlisted';

/** The schemas that may describe a value: several if a choice or an `allOf` is involved. Undefined: the body has no schema. */
type Described = readonly Schema[] | undefined;

// A value that is nested deeper is not looked into.
const deepest = 32;
// Further fields that no contract lists are recorded as `*`: an object with so many of them is probably a map.
const mostUnlisted = 64;

/** Counts the paths of one response that are recorded, so that a body with ever new paths takes a bounded space. */
export interface PathBudget {
  left: number;
  /** Whether a path was left out. */
  isExceeded: boolean;
}

/**
 * A path in the bodies of one response. Names that may be data are replaced by `*`: the items of a list, the keys of a map, and
 * keys that no contract lists and that look like identifiers.
 */
export class BodyPath {
  /** A pointer: `/drinks/*` and so on. */
  readonly text: string;
  readonly old: Listing;
  readonly new: Listing;
  /** The types that were seen here in either response. */
  readonly types = new Set<ShapeType>();
  readonly #oldSchemas: Described;
  readonly #newSchemas: Described;
  readonly #budget: PathBudget;
  readonly #depth: number;
  readonly #children = new Map<string, BodyPath>();
  #unlisted = 0;

  private constructor(
    text: string,
    [oldListing, newListing]: readonly [Listing, Listing],
    [oldSchemas, newSchemas]: readonly [Described, Described],
    budget: PathBudget,
    depth: number,
  ) {
    this.text = text;
    this.old = oldListing;
    this.new = newListing;
    this.#oldSchemas = oldSchemas;
    this.#newSchemas = newSchemas;
    this.#budget = budget;
    this.#depth = depth;
  }

  /** The whole body. */
  static root(old: Schema | undefined, now: Schema | undefined, budget: PathBudget): BodyPath {
    const listing = (schema: Schema | undefined): Listing => (schema ? 'required' : 'no schema');
    return new BodyPath(
      '',
      [listing(old), listing(now)],
      [old && orNone(() => withAlternatives(old)), now && orNone(() => withAlternatives(now))],
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
    const known = this.#children.get(`.${key}`);
    if (known) return known;
    const named = (schema: Schema): readonly SubschemaRef[] | undefined => {
      const field = schema.view.properties.get(key);
      return field && [field];
    };
    const isListed = [this.#oldSchemas, this.#newSchemas].some((one) =>
      one?.some((schema) => named(schema) !== undefined),
    );
    if (isListed) return this.#child(`.${key}`, named, key);
    if (this.#isMap() || !looksLikeName(key)) return this.#child('*', entrySchemas);
    this.#unlisted += 1;
    return this.#unlisted > mostUnlisted ? this.#child('*', entrySchemas) : this.#child(`.${key}`, named, key);
  }

  /** The paths directly below that are known so far. */
  get children(): Iterable<BodyPath> {
    return this.#children.values();
  }

  /** Adds what the contracts list below this path. A schema that contains itself is added once. */
  addListed(above: ReadonlySet<Schema> = new Set()): void {
    const schemas = [...(this.#oldSchemas ?? []), ...(this.#newSchemas ?? [])];
    if (schemas.some((schema) => above.has(schema))) return;
    const around = new Set([...above, ...schemas]);
    for (const key of new Set(schemas.flatMap(({ view }) => [...view.properties.keys()])))
      this.field(key)?.addListed(around);
    if (schemas.some((schema) => itemSchemas(schema).length > 0)) this.items()?.addListed(around);
  }

  /** Whether the keys of the object are data. An object of which a contract says nothing may be a map or not. */
  #isMap(): boolean {
    return [this.#oldSchemas, this.#newSchemas].some((one) => one?.some((schema) => entrySchemas(schema).length > 0));
  }

  #child(
    key: string,
    schemasBelow: (schema: Schema) => readonly SubschemaRef[] | undefined,
    name = '*',
  ): BodyPath | undefined {
    const known = this.#children.get(key);
    if (known) return known;
    if (this.#depth >= deepest || this.#budget.left <= 0) {
      this.#budget.isExceeded = true;
      return undefined;
    }
    this.#budget.left -= 1;
    const below = [this.#oldSchemas, this.#newSchemas].map((schemas) => describedBelow(schemas, schemasBelow));
    const listings = [this.old, this.new].map((listing, index) =>
      listingBelow(listing, [this.#oldSchemas, this.#newSchemas][index], below[index], name),
    );
    const text = `${this.text}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const child = new BodyPath(
      text,
      listings as [Listing, Listing],
      below as [Described, Described],
      this.#budget,
      this.#depth + 1,
    );
    this.#children.set(key, child);
    return child;
  }
}

function describedBelow(
  schemas: Described,
  schemasBelow: (schema: Schema) => readonly SubschemaRef[] | undefined,
): Described {
  const below = schemas?.flatMap((schema) => schemasBelow(schema) ?? []);
  return below && [...new Set(below.flatMap((one) => orNone(() => withAlternatives(one.schema))))];
}

function listingBelow(parent: Listing, schemas: Described, below: Described, name: string): Listing {
  if (parent === 'no schema' || parent === 'unlisted') return parent;
  if (below === undefined || below.length === 0) return 'unlisted';
  if (name === '*') return 'optional';
  const owners = schemas?.filter((schema) => schema.view.properties.has(name)) ?? [];
  return owners.every((schema) => schema.view.required.has(name)) ? 'required' : 'optional';
}

/** A schema and all alternatives of its choices. @throws CompareError for a broken `$ref` */
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

/** The schemas of the entries of a map. A closed object, or one whose other fields may be anything, is no map. */
function entrySchemas({ view }: Schema): readonly SubschemaRef[] {
  const { additional } = view;
  const value = additional?.at.value;
  const patterns = [...view.conditions]
    .filter(([name]) => name.startsWith('patternProperties/'))
    .map(([, one]) => one.ref);
  const isOfAnything = value === true || (isMap(value) && Object.keys(value).length === 0);
  if (additional === undefined || value === false || isOfAnything) return patterns;
  return [...patterns, additional];
}

/** Whether a key that no contract lists may be written down: it looks like the name of a field, and not like an identifier. */
export function looksLikeName(key: string): boolean {
  if (!/^[@$_]{0,2}[A-Za-z][\w$:-]{0,47}$/.test(key) || key.includes('::')) return false;
  const digits = key.match(/\d/g)?.length ?? 0;
  const isHash = /^[\da-f]{8,}$/i.test(key) && digits > 0;
  const changesOfKind = key.match(/[a-z]\d|\d[a-z]/gi)?.length ?? 0;
  return digits < 3 && !isHash && changesOfKind < 3 && !isMixed(key);
}

/** Whether a part of a key changes between small letters, capitals and digits more often than words do: `QWxhZGRpbjpvcGVu`. */
function isMixed(key: string): boolean {
  const words = /(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=\d)|(?<=\d)(?=[A-Za-z])/;
  return key.split(/[^A-Za-z\d]/).some((part) => {
    const count = part.split(words).length;
    return part.length >= 12 && count >= 6 && part.length < 3 * count;
  });
}
