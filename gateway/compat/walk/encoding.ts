import type { Documents } from '../document/documents.ts';
import { below, entriesOf, isMap, type Located } from '../document/located.ts';
import { canonical, substance } from '../schema/canonical.ts';
import { unionOfTypes } from '../schema/reach.ts';
import type { Schema } from '../schema/schema.ts';
import { defaultType, listedTypes } from './contentTypes.ts';

/** How one property of a form is written, defaults included. */
export interface Encoding {
  /** Undefined where nothing is said, and the default depends on the value. */
  readonly contentTypes: readonly string[] | undefined;
  readonly saysType: boolean;
  /** As parameters in a query are written. */
  readonly writing: string;
  readonly saysStyle: boolean;
  readonly takesReserved: boolean;
  /** Its headers, and encodings within it, as text. */
  readonly others: string;
}

const urlencoded = 'application/x-www-form-urlencoded';
const styling = ['style', 'explode', 'allowReserved'] as const;
const nested = ['encoding', 'prefixEncoding', 'itemEncoding'] as const;

/** Other media types have no use for `encoding`. */
export function hasParts(type: string): boolean {
  return type.startsWith('multipart/') || type.startsWith(urlencoded) || type.includes('*');
}

/** @param schema that of the property; undefined where it is not declared */
export function encodingOf(entry: Located, schema: Schema | undefined, type: string, documents: Documents): Encoding {
  const said = isMap(entry.value) ? entry.value : {};
  const { contentType, allowReserved } = said;
  const usual = schema && defaultType(schema, documents.isOpenApi30);
  const saysType = typeof contentType === 'string';
  const saysStyle = takesStyle(type, documents) && styling.some((keyword) => said[keyword] !== undefined);
  return {
    contentTypes: saysType ? listedTypes(contentType) : usual === undefined ? undefined : [usual],
    saysType,
    writing: saysType && !saysStyle && usual !== 'text/plain' ? 'content' : writingOf(said, saysStyle, schema),
    saysStyle,
    takesReserved: saysStyle && allowReserved === true,
    others: canonical([
      type.startsWith(urlencoded) ? {} : headersOf(below(entry, 'headers'), documents),
      nested.map((keyword) => substance(said[keyword])),
    ]),
  };
}

/** OpenAPI 3.0 has styles for URL-encoded forms only. */
function takesStyle(type: string, { isOpenApi30 }: Documents): boolean {
  return !type.startsWith('multipart/') || (type.startsWith('multipart/form-data') && !isOpenApi30);
}

/** How lists are written is no matter where there are none. */
function writingOf(said: Readonly<Record<string, unknown>>, saysStyle: boolean, schema: Schema | undefined): string {
  const types = schema && unionOfTypes(schema);
  if (types && !types.has('array') && !types.has('object')) return 'plain';
  const { style = 'form', explode = style === 'form' } = saysStyle ? said : {};
  return `style ${String(style)}${explode === true ? ', exploded' : ''}`;
}

/** `Content-Type` among them means nothing: `contentType` tells. */
function headersOf(located: Located, documents: Documents): Readonly<Record<string, string>> {
  const headers = entriesOf(located).map(([name, header]) => [name.toLowerCase(), header] as const);
  const counting = headers.filter(([name]) => name !== 'content-type');
  return Object.fromEntries(counting.map(([name, header]) => [name, substance(documents.resolve(header).value)]));
}
