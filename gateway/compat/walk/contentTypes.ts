import { isBytes } from '../schema/bytes.ts';
import { unionOfTypes } from '../schema/reach.ts';
import type { Schema } from '../schema/schema.ts';

/** Without upper case, blanks and `charset`: `application/json; charset=UTF-8` in any spelling. */
export function spelledAlike(type: string): string {
  return type
    .toLowerCase()
    .replace(/\s/g, '')
    .replace(/;charset=[^;,]*/, '');
}

/** The media types that `contentType` of an encoding lists. */
export function listedTypes(text: string): string[] {
  return text.split(',').map(spelledAlike);
}

/** Whether each of `these` is one of `those`, or falls under one. */
export function areCovered(these: readonly string[], those: readonly string[]): boolean {
  return these.every((type) => those.some((other) => other === type || isUnder(type, other)));
}

function isUnder(type: string, range: string): boolean {
  return range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)));
}

const octets = 'application/octet-stream';
const json = 'application/json';

/** The media type of a part of a form where `encoding` says none; undefined: it depends on the value. */
export function defaultType(schema: Schema, isOpenApi30: boolean, isItem = false): string | undefined {
  const { items, limits } = schema.view;
  const [media] = limits.texts.get('contentMediaType')?.is ?? [];
  if (media !== undefined) return spelledAlike(String(JSON.parse(media)));
  if (isBytes(schema.view, { direction: 'request', wire: 'multipart' })) return octets;
  if (limits.texts.has('contentEncoding')) return isOpenApi30 ? 'text/plain' : octets;
  const types = unionOfTypes(schema);
  if (types === undefined || types.size === 0) return undefined;
  if (!types.has('array') && !types.has('object')) return 'text/plain';
  if (types.size > 1) return undefined;
  // A list is sent item by item; a list within it is JSON.
  if (types.has('object') || isItem) return json;
  return items ? defaultType(items.schema, isOpenApi30, true) : octets;
}
