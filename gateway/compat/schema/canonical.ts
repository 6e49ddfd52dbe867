import { isList, isMap } from '../document/located.ts';

/** Keywords that describe and do not constrain. */
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
export function canonical(value: unknown, skip?: (key: string) => boolean): string {
  if (isList(value)) return `[${value.map((item) => canonical(item, skip)).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value) ?? 'null';
  const keys = Object.keys(value).filter((key) => value[key] !== undefined && skip?.(key) !== true);
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key], skip)}`)
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

/** `canonical` without descriptions. */
export function substance(value: unknown): string {
  return canonical(value, isDocs);
}
