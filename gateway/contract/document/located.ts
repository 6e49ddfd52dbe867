import { isMap, type JsonMap, pointerToken } from '../../shared/json.ts';
import type { YamlText } from '../../shared/yaml/yamlText.ts';

/** One parsed file of a contract. */
export interface ContractFile {
  /** The name that reports use. */
  readonly name: string;
  readonly root: unknown;
  /** The source text without a byte order mark; undefined for a file that was not parsed from text. */
  readonly text?: string;
  /** Undefined for JSON. */
  readonly yaml?: YamlText;
}

/** The path of a value in a contract file. A linked list is cheap to extend; only the paths in a report become text. */
export interface ContractPlace {
  readonly file: ContractFile;
  /** Undefined at the root of the file. */
  readonly parent: ContractPlace | undefined;
  readonly key: string;
}

/** A value of a contract and its place. */
export interface Located {
  /** Undefined if the place does not exist. */
  readonly value: unknown;
  readonly place: ContractPlace;
}

export function rootOf(file: ContractFile): Located {
  return { value: file.root, place: { file, parent: undefined, key: '' } };
}

export function placeBelow(parent: ContractPlace, key: string | number): ContractPlace {
  return { file: parent.file, parent, key: String(key) };
}

/** The value at a key or index; `value` is undefined if the key or index does not exist. */
export function below({ value, place }: Located, key: string | number): Located {
  const child = isList(value) ? value[Number(key)] : isMap(value) ? ownValue(value, String(key)) : undefined;
  return { value: child, place: placeBelow(place, key) };
}

/** The entries of a map; empty for other values. */
export function entriesOf(located: Located): [key: string, entry: Located][] {
  if (!isMap(located.value)) return [];
  return Object.keys(located.value).map((key) => [key, below(located, key)]);
}

/** The items of a list; empty for other values. */
export function itemsOf(located: Located): Located[] {
  return isList(located.value) ? located.value.map((_item, index) => below(located, index)) : [];
}

/** The keys from the root of the file down to a place. */
export function keysTo(place: ContractPlace): string[] {
  const keys: string[] = [];
  for (let at = place; at.parent !== undefined; at = at.parent) keys.push(at.key);
  return keys.reverse();
}

/** A JSON Pointer (RFC 6901) without percent-encoding: `/paths/~1drinks/get`. */
export function pointerOf(place: ContractPlace): string {
  return keysTo(place)
    .map((key) => `/${pointerToken(key)}`)
    .join('');
}

/** The file and the pointer of a place, for messages: `openapi.yaml#/paths/~1drinks`. */
export function addressOf(place: ContractPlace): string {
  return `${place.file.name}#${pointerOf(place)}`;
}

/** The reference in `$ref` or `$dynamicRef`; undefined for a value without one. */
export function refOf(value: unknown): string | undefined {
  if (!isMap(value)) return undefined;
  const ref = ownValue(value, '$ref') ?? ownValue(value, '$dynamicRef');
  return typeof ref === 'string' ? ref : undefined;
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Ignores inherited properties: a contract may have a key such as `constructor`. */
export function ownValue(map: JsonMap, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The mapping of the discriminator of a schema. */
export function discriminatorMapping(schema: JsonMap): JsonMap | undefined {
  const discriminator = ownValue(schema, 'discriminator');
  const mapping = isMap(discriminator) ? ownValue(discriminator, 'mapping') : undefined;
  return isMap(mapping) ? mapping : undefined;
}

/** Whether a value of a mapping is a reference. A name of a schema has none of these characters, or no file has its name. */
export function isMappedReference(target: unknown): target is string {
  return typeof target === 'string' && /[#/.]/.test(target);
}
