import type { Documents } from '../../../contract/document/documents.ts';
import { below, entriesOf, type Located } from '../../../contract/document/located.ts';
import type { Direction } from '../../../contract/routes.ts';
import { unionOfTypes } from '../../../contract/schema/choices.ts';
import { canonicalJson, canonicalJsonWithoutDocs, isEqual } from '../../../contract/schema/keywords.ts';
import type { Schema, View } from '../../../contract/schema/schema.ts';
import { isMap } from '../../../shared/json.ts';
import {
  addChange,
  addPart,
  type Comparison,
  compareAsDescription,
  compareDescriptions,
  emptyComparison,
  samePlace,
} from './change.ts';
import type { ContractPair } from './contractPair.ts';
import type { WireFormat } from './schemaPair.ts';
import { isBinary } from './types.ts';

/** Compares bodies by media type. A range such as `application/*` includes the types it matches. */
export function compareContent(
  old: Located,
  now: Located,
  direction: Direction,
  contracts: ContractPair,
  into: Comparison,
): void {
  const [before, after] = [mediaTypesOf(old), mediaTypesOf(now)];
  const isOnlyType = before.size < 2 && after.size < 2;
  for (const [type, media] of before) {
    const kept = after.get(type) ?? entryIncluding(type, after);
    // A range of a response was narrowed to some of its types. The loop below compares each of these types with the range.
    if (kept === undefined && direction === 'response' && isNarrowed(type, after)) continue;
    if (kept === undefined)
      addChange(into, { kind: 'media_type', effect: 'removed', direction, name: type, old: media, new: undefined });
    else {
      const comparison = compareMedia(type, media, kept, direction, contracts);
      addPart(into, isOnlyType ? samePlace : { kind: 'media_type', type }, comparison);
    }
  }
  for (const [type, media] of after) {
    if (before.has(type)) continue;
    const wider = entryIncluding(type, before);
    if (wider) addPart(into, { kind: 'media_type', type }, compareMedia(type, wider, media, direction, contracts));
    else addChange(into, { kind: 'media_type', effect: 'added', direction, name: type, old: undefined, new: media });
  }
}

function compareMedia(
  type: string,
  old: Located,
  now: Located,
  direction: Direction,
  contracts: ContractPair,
): Comparison | undefined {
  const wireFormat = wireFormatOf(type);
  // Encodings depend on the media type itself. Everything else depends only on its `WireFormat`.
  // The same pair of places is compared again for another direction or wire format.
  const aspect = `media ${direction} ${hasEncodings(type) ? type : wireFormat}`;
  return contracts.compareUnlessIdentical(aspect, old, now, (before, after, into) => {
    const compareAt = (keyword: string): Comparison | undefined =>
      contracts.compareSchemas(below(before, keyword), below(after, keyword), { direction, wireFormat });
    compareDescriptions(before, after, into);
    addPart(into, samePlace, compareAt('schema'));
    addPart(into, { kind: 'items' }, compareAt('itemSchema'));
    compareEncodings(type, before, after, direction, contracts, into);
  });
}

function mediaTypesOf(content: Located): Map<string, Located> {
  return new Map(entriesOf(content).map(([type, media]) => [normalizedType(type), media]));
}

/** The entry for the same type with or without parameters, or for a range that includes it. */
function entryIncluding(type: string, others: ReadonlyMap<string, Located>): Located | undefined {
  const bare = withoutParameters(type);
  const [main = ''] = bare.split('/', 1);
  const same = bare === type ? [...others].find(([other]) => withoutParameters(other) === bare)?.[1] : others.get(bare);
  return same ?? others.get(`${main}/*`) ?? others.get('*/*');
}

/** Whether `type` is a range that includes one of the others. */
function isNarrowed(type: string, others: ReadonlyMap<string, Located>): boolean {
  const prefix = type === '*/*' ? '' : type.slice(0, -1);
  return type.endsWith('/*') && [...others.keys()].some((other) => other.startsWith(prefix));
}

function withoutParameters(type: string): string {
  return type.split(';', 1)[0] ?? '';
}

function wireFormatOf(type: string): WireFormat {
  if (type.startsWith('multipart/')) return 'multipart';
  if (/^(application\/x-www-form-urlencoded|text\/(?!json|xml))/.test(type)) return 'text';
  if (/[/+]xml(;|$)/.test(type)) return 'xml';
  return /^(application\/(octet-stream|pdf|zip|gzip)|(image|audio|video|font)\/)/.test(type) ? 'bytes' : 'json';
}

/** How one field of a form is written, with defaults filled in. */
interface FieldEncoding {
  /** Undefined: not stated, and the default depends on the value. */
  readonly contentTypes: readonly string[] | undefined;
  readonly isTypeStated: boolean;
  /** How a value is written: `content`, `plain`, or style and explode as one text. Equal texts mean the same notation. */
  readonly notation: string;
  readonly isStyleStated: boolean;
  readonly allowsReserved: boolean;
  /** The headers and nested encodings as one text, to compare. */
  readonly headersAndNested: string;
}

const urlencoded = 'application/x-www-form-urlencoded';
const octets = 'application/octet-stream';
const json = 'application/json';
const styleKeywords = ['style', 'explode', 'allowReserved'] as const;
const nestedKeywords = ['encoding', 'prefixEncoding', 'itemEncoding'] as const;

/** In lower case, without blanks and `charset`. */
function normalizedType(type: string): string {
  return type
    .toLowerCase()
    .replace(/\s/g, '')
    .replace(/;charset=[^;,]*/, '');
}

/** Whether `encoding` has an effect on a media type. */
function hasEncodings(type: string): boolean {
  return type.startsWith('multipart/') || type.startsWith(urlencoded) || type.includes('*');
}

/** Compares how the fields of a form are written. `old` and `now`: the media types named `type`. */
function compareEncodings(
  type: string,
  old: Located,
  now: Located,
  direction: Direction,
  contracts: ContractPair,
  into: Comparison,
): void {
  for (const keyword of nestedKeywords) {
    const [before, after] = [below(old, keyword), below(now, keyword)];
    if (isEqual(before.value, after.value)) continue;
    if (!hasEncodings(type)) compareAsDescription(keyword, before, after, into);
    else if (keyword === 'encoding') compareFieldEncodings(type, old, now, direction, contracts, into);
    else
      addChange(into, { kind: 'serialization', effect: 'changed', direction, name: keyword, old: before, new: after });
  }
}

function compareFieldEncodings(
  type: string,
  old: Located,
  now: Located,
  direction: Direction,
  contracts: ContractPair,
  into: Comparison,
): void {
  const [before, after] = [below(old, 'encoding'), below(now, 'encoding')];
  const [oldSchema, newSchema] = contracts.schemasAt(below(old, 'schema'), below(now, 'schema'));
  for (const name of new Set([...entriesOf(before), ...entriesOf(after)].map(([key]) => key))) {
    const [oldField, newField] = [oldSchema, newSchema].map(({ view }) => view.properties.get(name)?.schema);
    const [oldEntry, newEntry] = [below(before, name), below(after, name)];
    // An added or removed field has a change of its own.
    if ((oldField === undefined) !== (newField === undefined) || isEqual(oldEntry.value, newEntry.value)) continue;
    if (oldField === undefined && hasOnlyNamedFields(oldSchema.view) && hasOnlyNamedFields(newSchema.view)) {
      addChange(into, { kind: 'docs', effect: 'changed', name: 'encoding', old: oldEntry, new: newEntry });
      continue;
    }
    const comparison = emptyComparison();
    const oldEncoding = encodingOf(oldEntry, oldField, type, contracts.old);
    const newEncoding = encodingOf(newEntry, newField, type, contracts.new);
    compareEncoding(oldEncoding, newEncoding, oldEntry, newEntry, direction, comparison);
    // `addPart` leaves out a comparison without changes, but only a finished one.
    comparison.isFinished = true;
    addPart(into, { kind: 'field', name }, comparison);
  }
}

/** Whether an object has only the named fields. If so, an `encoding` for any other field has no effect. */
function hasOnlyNamedFields({ choices, conditions, properties, additional }: View): boolean {
  const hasOthers = additional !== undefined && !additional.schema.view.rejectsAll;
  return choices.length === 0 && conditions.size === 0 && properties.size > 0 && !hasOthers;
}

function compareEncoding(
  old: FieldEncoding,
  now: FieldEncoding,
  oldEntry: Located,
  newEntry: Located,
  direction: Direction,
  into: Comparison,
): void {
  const isTypeStated = old.isTypeStated || now.isTypeStated;
  const typesChange = isTypeStated ? relationOf(old.contentTypes, now.contentTypes, direction) : 'same';
  const isRestyled = (old.isStyleStated || now.isStyleStated) && old.notation !== now.notation;
  const places = { direction, old: oldEntry, new: newEntry } as const;
  if (typesChange === 'changed' || isRestyled || old.headersAndNested !== now.headersAndNested) {
    addChange(into, { kind: 'serialization', effect: 'changed', name: 'encoding', ...places });
    return;
  }
  const addLimit = (effect: 'wider' | 'narrower', name: string): void =>
    addChange(into, { kind: 'limit', effect, direction, name, old: below(oldEntry, name), new: below(newEntry, name) });
  if (typesChange !== 'same') addLimit(typesChange, 'contentType');
  if (old.allowsReserved !== now.allowsReserved) addLimit(now.allowsReserved ? 'wider' : 'narrower', 'allowReserved');
  if (into.changes.length === 0)
    addChange(into, { kind: 'structure', effect: 'equivalent', name: 'encoding', ...places });
}

/** A request may allow more content types, and a response may use fewer. */
function relationOf(
  old: readonly string[] | undefined,
  now: readonly string[] | undefined,
  direction: Direction,
): 'same' | 'wider' | 'narrower' | 'changed' {
  if (old === undefined || now === undefined) return 'changed';
  const [keepsAllOld, addsNothing] = [areIncluded(old, now), areIncluded(now, old)];
  if (keepsAllOld && addsNothing) return 'same';
  if (keepsAllOld && direction === 'request') return 'wider';
  return addsNothing && direction === 'response' ? 'narrower' : 'changed';
}

/** Whether each of `types` is one of `others`, or included in a range among them. */
function areIncluded(types: readonly string[], others: readonly string[]): boolean {
  return types.every((type) => others.some((other) => other === type || isInRange(type, other)));
}

function isInRange(type: string, range: string): boolean {
  return range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)));
}

/** @param schema the schema of the field; undefined: the field is not declared */
function encodingOf(entry: Located, schema: Schema | undefined, type: string, documents: Documents): FieldEncoding {
  const keywords = isMap(entry.value) ? entry.value : {};
  const { contentType, allowReserved } = keywords;
  const defaultType = schema && defaultContentType(schema, documents.isOpenApi30);
  const isTypeStated = typeof contentType === 'string';
  const isStyleStated =
    allowsStyle(type, documents) && styleKeywords.some((keyword) => keywords[keyword] !== undefined);
  const defaultTypes = defaultType === undefined ? undefined : [defaultType];
  // With a stated type and no style, lists and objects are written as content of that type. For single values it makes no difference.
  const isWrittenAsContent = isTypeStated && !isStyleStated && defaultType !== 'text/plain';
  const headers = type.startsWith(urlencoded) ? {} : headersOf(below(entry, 'headers'), documents);
  return {
    contentTypes: isTypeStated ? contentType.split(',').map(normalizedType) : defaultTypes,
    isTypeStated,
    notation: isWrittenAsContent ? 'content' : notationOf(keywords, isStyleStated, schema),
    isStyleStated,
    allowsReserved: isStyleStated && allowReserved === true,
    headersAndNested: canonicalJson([
      headers,
      nestedKeywords.map((keyword) => canonicalJsonWithoutDocs(keywords[keyword])),
    ]),
  };
}

/** OpenAPI 3.0 has styles for URL-encoded forms only. */
function allowsStyle(type: string, { isOpenApi30 }: Documents): boolean {
  return !type.startsWith('multipart/') || (type.startsWith('multipart/form-data') && !isOpenApi30);
}

/** The style has no effect on single values. */
function notationOf(
  keywords: Readonly<Record<string, unknown>>,
  isStyleStated: boolean,
  schema: Schema | undefined,
): string {
  const types = schema && unionOfTypes(schema);
  if (types && !types.has('array') && !types.has('object')) return 'plain';
  const { style = 'form', explode = style === 'form' } = isStyleStated ? keywords : {};
  return `${String(style)} ${explode === true}`;
}

/** Without `Content-Type`, which `contentType` replaces. */
function headersOf(located: Located, documents: Documents): Readonly<Record<string, string>> {
  const headers = entriesOf(located).map(([name, header]) => [name.toLowerCase(), header] as const);
  const effective = headers.filter(([name]) => name !== 'content-type');
  return Object.fromEntries(
    effective.map(([name, header]) => [name, canonicalJsonWithoutDocs(documents.resolve(header).value)]),
  );
}

/** The media type of a part without `contentType` (OpenAPI, Encoding Object); undefined: it depends on the value. */
function defaultContentType(schema: Schema, isOpenApi30: boolean, { isItem } = { isItem: false }): string | undefined {
  const { items, limits } = schema.view;
  const [mediaType] = limits.jsonValues.get('contentMediaType')?.value ?? [];
  // Limits have their values as JSON.
  if (mediaType !== undefined) return normalizedType(String(JSON.parse(mediaType)));
  if (isBinary(schema.view, { direction: 'request', wireFormat: 'multipart' })) return octets;
  if (limits.jsonValues.has('contentEncoding')) return isOpenApi30 ? 'text/plain' : octets;
  const types = unionOfTypes(schema);
  if (types === undefined || types.size === 0) return undefined;
  if (!types.has('array') && !types.has('object')) return 'text/plain';
  if (types.size > 1) return undefined;
  // Each item of an array is a part. An array within an array is JSON.
  if (types.has('object') || isItem) return json;
  return items ? defaultContentType(items.schema, isOpenApi30, { isItem: true }) : octets;
}
