import { isMap } from '../../shared/json.ts';
import { isList, type Located } from '../document/located.ts';

/** Keywords that describe values and do not constrain them. */
export const docsKeywords: ReadonlySet<string> = new Set([
  'title',
  'summary',
  'description',
  'example',
  'examples',
  'deprecated',
  'externalDocs',
  '$comment',
  'tags',
  'operationId',
]);

export function isDocs(keyword: string): boolean {
  return docsKeywords.has(keyword) || keyword.startsWith('x-');
}

/** JSON with sorted keys: the same text for equal values. `skip`: keys to leave out. */
export function canonicalJson(value: unknown, skip?: (key: string) => boolean): string {
  if (isList(value)) return `[${value.map((item) => canonicalJson(item, skip)).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value) ?? 'null';
  const keys = Object.keys(value).filter((key) => value[key] !== undefined && skip?.(key) !== true);
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key], skip)}`)
    .join(',')}}`;
}

/** Whether two values are equal as JSON, in any order of their keys. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isList(a)) return isList(b) && a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  if (!isMap(a) || !isMap(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

/** `canonicalJson` without descriptions. */
export function canonicalJsonWithoutDocs(value: unknown): string {
  return canonicalJson(value, isDocs);
}

/** The types of JSON, with integers as a separate type. Null is not one of them: `View.nullable` represents it. */
export type JsonType = 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

/** Whether every value of the types `inner` has a type of `outer`. Undefined: any type. */
export function isWithin(inner: ReadonlySet<JsonType> | undefined, outer: ReadonlySet<JsonType> | undefined): boolean {
  if (outer === undefined) return true;
  if (inner === undefined) return false;
  return [...inner].every((type) => outer.has(type) || (type === 'integer' && outer.has('number')));
}

/** The keywords of all parts of a schema, without descriptions. A keyword has one value for each part in which it occurs. */
export type Keywords = ReadonlyMap<string, readonly Located[]>;

export function keywordsOf(parts: readonly { readonly located: Located }[]): Keywords {
  const keywords = new Map<string, Located[]>();
  for (const { located } of parts) {
    if (!isMap(located.value)) continue;
    for (const key of Object.keys(located.value)) {
      const value = located.value[key];
      if (value === undefined || isDocs(key)) continue;
      const entry = { value, place: { file: located.place.file, parent: located.place, key } };
      const known = keywords.get(key);
      if (known) known.push(entry);
      else keywords.set(key, [entry]);
    }
  }
  return keywords;
}

const numberKeywords = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const stringKeywords = ['minLength', 'maxLength', 'pattern', 'contentEncoding', 'contentMediaType', 'contentSchema'];
const arrayKeywords = [
  'minItems',
  'maxItems',
  'uniqueItems',
  'items',
  'prefixItems',
  'contains',
  'minContains',
  'maxContains',
];
const objectKeywords = [
  'properties',
  'required',
  'additionalProperties',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
];

/** The keywords that have no effect on values of a type. */
export const inapplicableKeywords: Readonly<Record<JsonType, readonly string[]>> = {
  boolean: [...numberKeywords, ...stringKeywords, ...arrayKeywords, ...objectKeywords],
  integer: [...stringKeywords, ...arrayKeywords, ...objectKeywords],
  number: [...stringKeywords, ...arrayKeywords, ...objectKeywords],
  string: [...numberKeywords, ...arrayKeywords, ...objectKeywords],
  array: [...numberKeywords, ...stringKeywords, ...objectKeywords],
  object: [...numberKeywords, ...stringKeywords, ...arrayKeywords],
};

const keywordsOfOneType = new Set([...numberKeywords, ...stringKeywords, ...arrayKeywords, ...objectKeywords]);

/** Whether a keyword has an effect on values of one of `types`. Undefined: any type. */
export function isApplicable(keyword: string, types: ReadonlySet<JsonType> | undefined): boolean {
  if (types === undefined || !keywordsOfOneType.has(keyword)) return true;
  return [...types].some((type) => !inapplicableKeywords[type].includes(keyword));
}

const scalarKeywords: ReadonlySet<string> = new Set([...numberKeywords, ...stringKeywords]);

/**
 * Leaves out the keywords that apply to none of `types`: `maxLength` does not limit a number. Keywords of objects and
 * arrays stay: in a schema with `properties` and another type, the type is probably the mistake.
 */
export function applicableKeywords(keywords: Keywords, types: ReadonlySet<JsonType> | undefined): Keywords {
  if (types === undefined) return keywords;
  const isInapplicable = (keyword: string): boolean => scalarKeywords.has(keyword) && !isApplicable(keyword, types);
  if (![...keywords.keys()].some(isInapplicable)) return keywords;
  return new Map([...keywords].filter(([keyword]) => !isInapplicable(keyword)));
}

const simplifiedKeywords = ['contains', 'minContains', 'maxContains', 'multipleOf', 'not'] as const;

/**
 * Leaves out keywords without effect, and replaces a keyword by a simpler one with the same effect: `multipleOf: 1` becomes
 * `type: integer`. `not: { type: 'null' }` is left out, because `View.nullable` has its effect.
 */
export function withoutNoopKeywords(keywords: Keywords): Keywords {
  if (!simplifiedKeywords.some((keyword) => keywords.has(keyword))) return keywords;
  const simplified = new Map(keywords);
  if (isContainsNoop(keywords)) for (const name of ['contains', 'minContains', 'maxContains']) simplified.delete(name);
  // The rest needs a `type`. Without one, only `not` excludes null, and `type: integer` would also exclude strings.
  if (!keywords.has('type')) return simplified;
  if (excludesNull(keywords)) {
    const others = keywords.get('not')?.filter((at) => !isOnlyNull(at)) ?? [];
    if (others.length > 0) simplified.set('not', others);
    else simplified.delete('not');
  }
  if (keywords.get('multipleOf')?.some(({ value }) => value === 1)) makeInteger(simplified);
  return simplified;
}

/** Whether a `not` excludes null. */
function excludesNull(keywords: Keywords): boolean {
  return keywords.get('not')?.some(isOnlyNull) ?? false;
}

const onlyNull: readonly unknown[] = [{ type: 'null' }, { type: ['null'] }, { const: null }, { enum: [null] }];

function isOnlyNull({ value }: Located): boolean {
  return onlyNull.some((one) => canonicalJsonWithoutDocs(one) === canonicalJsonWithoutDocs(value));
}

/** Whether `contains` and its limits have no effect: without `contains`, or with `minContains: 0` and no maximum. */
function isContainsNoop(keywords: Keywords): boolean {
  const contains = keywords.get('contains');
  if (contains === undefined) return true;
  if (contains.length > 1 || keywords.has('maxContains')) return false;
  const [minContains] = keywords.get('minContains') ?? [];
  return minContains?.value === 0 && areInOneObject(contains[0], minContains);
}

function areInOneObject(one: Located | undefined, other: Located): boolean {
  return one?.place.parent !== undefined && one.place.parent === other.place.parent;
}

/** Replaces `multipleOf: 1` by `type: integer`. */
function makeInteger(keywords: Map<string, readonly Located[]>): void {
  const types = keywords.get('type') ?? [];
  keywords.set(
    'type',
    types.map(({ value, place }) => ({ value: isList(value) ? value.map(asInteger) : asInteger(value), place })),
  );
  const others = keywords.get('multipleOf')?.filter(({ value }) => value !== 1) ?? [];
  if (others.length > 0) keywords.set('multipleOf', others);
  else keywords.delete('multipleOf');
}

function asInteger(type: unknown): unknown {
  return type === 'number' ? 'integer' : type;
}
