import type { JsonMembers, JsonValue, ParameterForm, ParameterForms } from '../../../config/adapterSettings.ts';
import { parameterValuesOf } from '../../../shared/pathTable.ts';
import { numberOf } from './conversions.ts';

// Reads and writes the parameters of a request. A text that no operation changes keeps its bytes.

export type Transform = (value: JsonValue) => JsonValue;

/** A query parameter as a client sent it. */
interface ReceivedParameter {
  readonly value: JsonValue;
  /** The decoded texts of the value, or of its items. */
  readonly texts: readonly string[];
  readonly form: ParameterForm | undefined;
  readonly rawName: string;
  /** The parts of the query that have this parameter. */
  readonly raws: readonly string[];
}

/**
 * Changes the query of a request to the adapted version into that of the request to the other version. `forms.own`: how the adapted
 * version writes its parameters; `forms.other`: how the other version does.
 * @throws AdaptationError if an operation does not fit a value; Error if a result cannot be written
 */
export function transformedQuery(query: string, transform: Transform, forms: ParameterForms): string {
  const rawByText = new Map<string, string>();
  const received = receivedIn(query, forms.own, rawByText);
  // A copy of each list, because operations change values in place.
  const given = [...received].map(([name, { value }]) => [name, Array.isArray(value) ? [...value] : value] as const);
  const after = transform(Object.fromEntries(given)) as JsonMembers;
  const parts = Object.entries(after).flatMap(([name, value]) => {
    const [before, form] = [received.get(name), forms.other.get(`query ${name}`)];
    const texts = textsOf(value, `the parameter ${name} of the query`);
    if (before && isWrittenAlike(before, value, form) && isSame(before.texts, texts)) return before.raws;
    const rawName = before?.rawName ?? encodeURIComponent(name);
    return writtenParameters(texts, form, rawByText).map((text) => `${rawName}=${text}`);
  });
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/**
 * Whether the bytes of the parameter can be kept. If the contract of the adapted version describes a list, the other contract must
 * describe a list with the same separator.
 */
function isWrittenAlike(before: ReceivedParameter, value: JsonValue, form: ParameterForm | undefined): boolean {
  if (Array.isArray(before.value) !== Array.isArray(value)) return false;
  return before.form?.separator === undefined || before.form.separator === form?.separator;
}

/** The values of the query parameters by name. */
export function valuesInQuery(query: string, forms: ParameterForms['own']): Map<string, JsonValue> {
  return new Map([...receivedIn(query, forms, new Map())].map(([name, { value }]) => [name, value]));
}

/** Name of a parameter → its values. Also adds to `rawByText`: decoded text → the text as received. */
function receivedIn(
  query: string,
  forms: ParameterForms['own'],
  rawByText: Map<string, string>,
): Map<string, ReceivedParameter> {
  const received = new Map<string, ReceivedParameter>();
  for (const [name, pairs] of Map.groupBy(queryPairs(query), (pair) => pair.name)) {
    const form = forms.get(`query ${name}`);
    const texts = pairs.flatMap(({ rawValue }) => itemsOf(rawValue, form, formDecoded, rawByText));
    const values = texts.map((text) => typedValueOf(text, form));
    // Some clients repeat a parameter that the contract describes as a single value. It is then a list, too.
    const isList = form?.separator !== undefined || pairs.length > 1;
    const value = isList ? values : (values[0] ?? null);
    received.set(name, { value, texts, form, rawName: pairs[0]?.rawName ?? name, raws: pairs.map(({ raw }) => raw) });
  }
  return received;
}

/** `from`, `to`: templates. @throws as `transformedQuery` */
export function transformedPath(
  path: string,
  { from, to }: { readonly from: string; readonly to: string },
  transform: Transform,
  forms: ParameterForms,
): string {
  const rawByText = new Map<string, string>();
  const given = valuesInPath(path, from, forms.own, rawByText);
  const values = transform(Object.fromEntries(given)) as JsonMembers;
  return to.replace(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const what = `the parameter ${name} of the path`;
    const texts = Object.hasOwn(values, name) ? textsOf(values[name] ?? null, what) : [];
    const form = forms.other.get(`path ${name}`);
    if (texts.length > 1 && form?.separator === undefined) throw new Error(`${what} is a list`);
    const [written = ''] = writtenParameters(texts, form, rawByText);
    if (cannotBeSegment(decoded(written))) throw new Error(`${what} has no value`);
    return written;
  });
}

/** Whether a path cannot have this text as a segment. */
export function cannotBeSegment(text: string): boolean {
  return text === '' || text === '.' || text === '..';
}

/** The values of the parameters of a template. */
export function valuesInPath(
  path: string,
  template: string,
  forms: ParameterForms['own'],
  rawByText = new Map<string, string>(),
): [name: string, value: JsonValue][] {
  return parameterValuesOf(path, template).map(([name, raw]) => {
    const form = forms.get(`path ${name}`);
    const values = itemsOf(raw, form, decoded, rawByText).map((text) => typedValueOf(text, form));
    return [name, form?.separator === undefined ? (values[0] ?? null) : values];
  });
}

/** A parameter as received. `raw`: `rawName`, the equals sign if there is one, and `rawValue`. */
export interface QueryPair {
  readonly name: string;
  readonly rawName: string;
  readonly rawValue: string;
  readonly raw: string;
}

export function queryPairs(query: string): QueryPair[] {
  return query
    .slice(1)
    .split('&')
    .filter((raw) => raw !== '')
    .map((raw) => {
      const equals = raw.indexOf('=');
      const rawName = equals === -1 ? raw : raw.slice(0, equals);
      return { name: formDecoded(rawName), rawName, rawValue: equals === -1 ? '' : raw.slice(equals + 1), raw };
    });
}

/** How each separator is written and read. An escaped comma is not a separator, but part of an item (RFC 6570 §3.2.1). */
const separators = { ',': [',', /,/], ' ': ['%20', /%20|\+/], '|': ['%7C', /\||%7C/i] } as const;

/** The decoded items of a list, or the only text. Adds to `rawByText` as `receivedIn` does. */
function itemsOf(
  raw: string,
  form: ParameterForm | undefined,
  decode: (text: string) => string,
  rawByText: Map<string, string>,
): string[] {
  const separator = form?.separator;
  const parts = separator === undefined || separator === '&' ? [raw] : raw.split(separators[separator][1]);
  return parts.map((part) => {
    const text = decode(part);
    rawByText.set(text, part);
    return text;
  });
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The value of a text, by the type of its parameter. A text that does not fit the type stays a text. */
export function typedValueOf(text: string, form: Pick<ParameterForm, 'type'> | undefined): JsonValue {
  if (form?.type === 'number' && jsonNumber.test(text)) return numberOf(text) ?? text;
  return form?.type === 'boolean' && /^(?:true|false)$/.test(text) ? text === 'true' : text;
}

/** The texts of a value, or of the items of a list. Null has no text. @throws Error for an object */
function textsOf(value: JsonValue, what: string): string[] {
  return [value].flat().flatMap((one) => {
    if (one === null) return [];
    // A number whose text is kept is an object of `JSON.rawJSON`. `JSON.stringify` writes its text.
    const text = typeof one === 'string' ? one : JSON.stringify(one);
    if (typeof one === 'object' && /^[{[]/.test(text)) throw new Error(`${what} is not a text`);
    return [text];
  });
}

/**
 * The values of a parameter as they are written, without its name. A query has the parameter once for each of them, and a path has
 * only one.
 * @throws Error if an item contains the separator: an escaped space or `|` would be read as a separator, too
 */
export function writtenParameters(
  texts: readonly string[],
  form: ParameterForm | undefined,
  rawByText: ReadonlyMap<string, string> = new Map(),
): string[] {
  const separator = form?.separator;
  if (texts.length === 0) return [];
  if (separator === undefined || separator === '&')
    return texts.map((text) => rawByText.get(text) ?? encodeURIComponent(text));
  if (separator !== ',' && texts.some((text) => text.includes(separator))) {
    throw new Error('an item of a list contains the separator of the list');
  }
  return [texts.map((text) => encodeURIComponent(text)).join(separators[separator][0])];
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

export function formDecoded(text: string): string {
  return decoded(text.replaceAll('+', ' '));
}

/** Returns the text as received if its escapes are not UTF-8. */
function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
