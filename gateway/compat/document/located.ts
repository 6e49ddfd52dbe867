import type { YamlTree } from './yamlTree.ts';

/** One file of a contract, parsed. */
export interface ContractFile {
  /** As the report names it. */
  readonly name: string;
  readonly root: unknown;
  /** What it was parsed from, without a byte order mark; undefined for one that was never a text. */
  readonly text?: string;
  /** Undefined for JSON. */
  readonly yaml?: YamlTree;
}

/** Where in a contract something stands. Linked, so that only what is reported is ever spelled out. */
export interface ContractPlace {
  readonly file: ContractFile;
  /** Undefined at the root of the file. */
  readonly parent: ContractPlace | undefined;
  readonly key: string;
}

export interface Located {
  readonly value: unknown;
  readonly place: ContractPlace;
}

export type JsonMap = Readonly<Record<string, unknown>>;

export function rootOf(file: ContractFile): Located {
  return { value: file.root, place: { file, parent: undefined, key: '' } };
}

export function placeBelow(parent: ContractPlace, key: string | number): ContractPlace {
  return { file: parent.file, parent, key: String(key) };
}

/** What stands below a key; `undefined` is a value like any other, for a key that is not there. */
export function below({ value, place }: Located, key: string | number): Located {
  const inner = isList(value) ? value[Number(key)] : isMap(value) ? ownValue(value, String(key)) : undefined;
  return { value: inner, place: placeBelow(place, key) };
}

/** The entries of a map; of anything else, none. */
export function entriesOf(located: Located): [key: string, entry: Located][] {
  if (!isMap(located.value)) return [];
  return Object.keys(located.value).map((key) => [key, below(located, key)]);
}

export function itemsOf(located: Located): Located[] {
  return isList(located.value) ? located.value.map((_item, index) => below(located, index)) : [];
}

/** RFC 6901, as a URI fragment would hold it but for the percent-encoding: `/paths/~1drinks/get`. */
export function pointerOf(place: ContractPlace): string {
  const keys: string[] = [];
  for (let at = place; at.parent !== undefined; at = at.parent) keys.push(escapeKey(at.key));
  return keys
    .reverse()
    .map((key) => `/${key}`)
    .join('');
}

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** `__proto__` and its like are keys of a contract only where the contract has them. */
export function ownValue(map: JsonMap, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The reference in `$ref` or `$dynamicRef`; undefined for a value without one. */
export function refOf(value: unknown): string | undefined {
  if (!isMap(value)) return undefined;
  const ref = ownValue(value, '$ref') ?? ownValue(value, '$dynamicRef');
  return typeof ref === 'string' ? ref : undefined;
}

function escapeKey(key: string): string {
  return key.includes('~') || key.includes('/') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key;
}
