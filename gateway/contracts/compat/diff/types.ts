import { acceptsAnyType, acceptsAnyValue } from '../../../contract/schema/choices.ts';
import { isEqual, isWithin, type JsonType } from '../../../contract/schema/keywords.ts';
import type { Limit } from '../../../contract/schema/limits.ts';
import type { View } from '../../../contract/schema/schema.ts';
import { isSentAsText, noName, type SchemaPair, type SchemaUse } from './schemaPair.ts';

type Types = ReadonlySet<JsonType> | undefined;

/**
 * Compares types, null and formats.
 *
 * @returns the keywords that remain to be compared; `limits`: ranges, lengths, patterns and conditions
 */
export function compareTypes(pair: SchemaPair): 'all' | 'limits' | 'none' {
  const { old, new: now, oldSchema, newSchema } = pair;
  if (old.rejectsAll !== now.rejectsAll) {
    pair.addChange('limit', now.rejectsAll ? 'narrower' : 'wider', 'schema', oldSchema.located, newSchema.located);
    return 'none';
  }
  if (isBinary(old, pair.use) && isBinary(now, pair.use)) return 'all';
  const relation = relationOf(old, now, pair.use);
  if (relation !== 'same') {
    pair.addChange('type', relation, 'type', old.at('type') ?? oldSchema.located, now.at('type') ?? newSchema.located);
  }
  if (relation === 'changed' && !mayOverlap(old.types, now.types)) return 'none';
  // The types differ, because one schema accepts any type.
  const isTypeUnlimited = relation !== 'same' && (acceptsAnyType(old) || acceptsAnyType(now));
  if (isTypeUnlimited && (acceptsAnyValue(old) || acceptsAnyValue(now))) return 'none';
  compareNull(pair);
  // A format applies to one type.
  if (relation === 'same' || haveCommonType(old.types, now.types)) compareFormats(pair);
  return isTypeUnlimited ? 'limits' : 'all';
}

function haveCommonType(a: Types, b: Types): boolean {
  return a !== undefined && b !== undefined && [...a].some((type) => b.has(type));
}

/** An integer is a number, so these two types overlap. */
function mayOverlap(a: Types, b: Types): boolean {
  return a === undefined || b === undefined || hasTypeWithin(a, b) || hasTypeWithin(b, a);
}

function hasTypeWithin(types: ReadonlySet<JsonType>, outer: ReadonlySet<JsonType>): boolean {
  return [...types].some((type) => isWithin(new Set([type]), outer));
}

function relationOf(old: View, now: View, use: SchemaUse): 'same' | 'narrower' | 'wider' | 'changed' {
  // `compareChoices` compares the types of alternatives.
  if (old.types === undefined && old.choices.length > 0) return 'same';
  if (now.types === undefined && now.choices.length > 0) return 'same';
  const isText = isSentAsText(use);
  // `compareValues` compares the values.
  if (isText && isScalarEnum(old) && isScalarEnum(now)) return 'same';
  if (onlyOneStatesType(old, now)) return 'same';
  const isWithinOld = isWithin(now.types, old.types) || (isText && acceptsTextOf(old, now));
  const includesOld = isWithin(old.types, now.types) || (isText && acceptsTextOf(now, old));
  if (isWithinOld && includesOld) return 'same';
  return isWithinOld ? 'narrower' : includesOld ? 'wider' : 'changed';
}

/** Whether both schemas list values, only one states their type, and the values of the other one have this type. */
function onlyOneStatesType(old: View, now: View): boolean {
  if (!old.enumValues || !now.enumValues) return false;
  const [statesOld, statesNew] = [old.at('type') !== undefined, now.at('type') !== undefined];
  return statesOld !== statesNew && (statesNew ? isWithin(old.types, now.types) : isWithin(now.types, old.types));
}

/** Whether `wide` accepts any text, and values of `narrow` are written as a text. */
function acceptsTextOf(wide: View, narrow: View): boolean {
  if (!wide.types?.has('string')) return false;
  const { counts, jsonValues } = wide.limits;
  const isUnlimited = wide.enumValues === undefined && counts.size === 0 && jsonValues.size === 0;
  return isUnlimited && !narrow.types?.has('array') && !narrow.types?.has('object');
}

function isScalarEnum({ enumValues, types }: View): boolean {
  return enumValues !== undefined && !types?.has('array') && !types?.has('object');
}

function compareNull(pair: SchemaPair): void {
  const { old, new: now } = pair;
  if (acceptsAnyType(old) || acceptsAnyType(now)) return;
  // A contract that allows null and omits it from the `enum` can be read either way.
  const areBothUnclear = old.enumOmitsNull && now.enumOmitsNull;
  if (old.nullable !== now.nullable && !areBothUnclear) addNullChange(pair, now.nullable);
  else if (old.nullable !== now.nullable || old.enumOmitsNull !== now.enumOmitsNull) {
    const places = [old.at('enum') ?? old.at('const'), now.at('enum') ?? now.at('const')] as const;
    pair.addChange('structure', 'equivalent', 'null', ...places);
  }
}

export function addNullChange(pair: SchemaPair, isAdded: boolean): void {
  const { old, new: now, oldSchema, newSchema } = pair;
  const places = [old.at('type') ?? oldSchema.located, now.at('type') ?? newSchema.located] as const;
  pair.addChange('null', isAdded ? 'added' : 'removed', noName, ...places);
}

// Every value of the first format is also a value of the second.
const widenings: ReadonlySet<string> = new Set(['int32>int64', 'float>double']);

function compareFormats(pair: SchemaPair): void {
  const [old, now] = [pair.old.limits.jsonValues.get('format'), pair.new.limits.jsonValues.get('format')];
  const [before, after] = [formatKey(old?.value), formatKey(now?.value)];
  if (before === after || !isFormatApplicable(pair, old ?? now)) return;
  const isWider = now === undefined || widenings.has(`${before}>${after}`);
  const isNarrower = old === undefined || widenings.has(`${after}>${before}`);
  pair.addChange('type', isWider ? 'wider' : isNarrower ? 'narrower' : 'changed', 'format', old?.at, now?.at);
}

const numberFormats: ReadonlySet<string> = new Set(['"int32"', '"int64"', '"float"', '"double"']);

/**
 * False for formats of texts if only one schema accepts texts, and likewise for numbers. `minLength` stands for all keywords of texts,
 * `minimum` for all keywords of numbers.
 */
function isFormatApplicable(pair: SchemaPair, formats: Limit<ReadonlySet<string>> | undefined): boolean {
  return pair.isKeywordComparable(formats?.value.isSubsetOf(numberFormats) ? 'minimum' : 'minLength');
}

/** `int32`, without the quotes of JSON; several formats in a fixed order. */
function formatKey(formats: ReadonlySet<string> | undefined): string {
  return [...(formats ?? [])].sort().join(' and ').replaceAll('"', '');
}

/** Compares how a value is written: `xml`, and texts that contain encoded data. */
export function compareNotations(pair: SchemaPair): void {
  const { old, new: now, use } = pair;
  if (use.wireFormat === 'xml' && !isEqual(old.at('xml')?.value, now.at('xml')?.value)) {
    pair.addChange('structure', 'changed', 'xml', old.at('xml'), now.at('xml'));
  }
  if (isBinary(old, use) && isBinary(now, use)) return;
  // A value in base64 instead of plain text breaks requests and responses.
  for (const keyword of ['contentEncoding', 'contentMediaType']) {
    if (!pair.isKeywordComparable(keyword)) continue;
    const [before, after] = [old.limits.jsonValues.get(keyword), now.limits.jsonValues.get(keyword)];
    const isSame = [...(before?.value ?? [])].sort().join() === [...(after?.value ?? [])].sort().join();
    if (!isSame) pair.addChange('structure', 'changed', keyword, before?.at, after?.at);
  }
}

const octetStreamJson = '"application/octet-stream"';

/**
 * Whether a schema describes raw bytes: `format: binary` in OpenAPI 3.0; since 3.1 an empty schema, or one with a
 * `contentMediaType`. Applies to bodies and the parts of multipart bodies.
 */
export function isBinary(view: View, { wireFormat }: SchemaUse): boolean {
  if (wireFormat !== 'bytes' && wireFormat !== 'multipart') return false;
  const { jsonValues } = view.limits;
  if (jsonValues.has('contentEncoding') || view.enumValues) return false;
  const mediaTypes = [...(jsonValues.get('contentMediaType')?.value ?? [])];
  // A whole body has its own media type. The default of a part is application/octet-stream.
  if (wireFormat === 'multipart' && mediaTypes.some((type) => type !== octetStreamJson)) return false;
  if (jsonValues.get('format')?.value.has('"binary"')) return true;
  if (mediaTypes.length > 0) return view.types === undefined || view.types.has('string');
  return acceptsAnyType(view) && jsonValues.size === 0;
}
