import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import type { JsonValue, PreparedAdapter } from '../../../config/adapterSettings.ts';
import { schemaRegExp } from '../../../contract/schema/patterns.ts';
import { pointerToken } from '../../../shared/json.ts';
import { mustKeepNumbers, parseKeepingNumbers } from './exactJson.ts';
import { AdaptationError } from './transform.ts';

/** Why a body cannot be adapted, or where the result violates the contract. `pointer`: the place in the body. */
export interface BodyFault {
  readonly pointer: string;
  /** For the log. Contains no value of the body. */
  readonly cause: string;
}

/** What is done with the JSON of a body. */
export interface BodyChange {
  readonly transform: (value: JsonValue) => JsonValue;
  /** True: there are no operations, so a body that fits the contract stays as it is. */
  readonly isEmpty: boolean;
  /** Undefined: nothing is checked. */
  readonly findViolation: FindViolation | undefined;
}

/** A body that is too large after decoding. */
export const tooLarge: BodyFault = { pointer: '', cause: 'the body is larger than adapter.body' };

const codings: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Buffer>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

// More codings have no use, and each of them costs a pass over the body.
const maxCodings = 2;

/**
 * Removes the content codings, the last one first (RFC 9110 §8.4). Stops at `limit` bytes of output, because a small body may
 * decode to a huge one.
 */
export function decodeBody(bytes: Buffer, coding: string, limit: number): Buffer | BodyFault {
  const names = coding.split(',').map((name) => name.trim().toLowerCase());
  const applied = names.filter((name) => name !== '' && name !== 'identity');
  if (applied.length > maxCodings) return { pointer: '', cause: 'the body has too many content codings' };
  let decoded = bytes;
  for (const name of applied.reverse()) {
    const decode = Object.hasOwn(codings, name) ? codings[name] : undefined;
    if (!decode) return { pointer: '', cause: 'the body has an unknown content coding' };
    try {
      decoded = decode(decoded, { maxOutputLength: limit });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return tooLarge;
      return { pointer: '', cause: 'the content coding of the body is broken' };
    }
  }
  return decoded.length > limit ? tooLarge : decoded;
}

/** Whether a body may be JSON: `application/json`, `application/problem+json`, in UTF-8. */
export function isAdaptableJson(contentType: string | undefined): boolean {
  const [, type = '', parameters = ''] = /^\s*([^;]*?)\s*(;.*)?$/s.exec(contentType ?? '') ?? [];
  if (!/^(?:application|text)\/(?:[\w!#$&^.+-]+\+)?json$/i.test(type)) return false;
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(parameters)?.[1];
  return charset === undefined || /^(?:utf-?8|us-ascii)$/i.test(charset);
}

/**
 * A body. A text has one character for each byte (latin1). Most bodies are ASCII, and as text they need not be copied to a
 * Buffer.
 */
export type BodyBytes = Buffer | string;

/** Changes a decoded JSON body. */
export function changeBody(body: BodyBytes, { transform, isEmpty, findViolation }: BodyChange): BodyBytes | BodyFault {
  const bytes = typeof body === 'string' && isAscii(body) ? undefined : bufferOf(body);
  if (bytes && !isUtf8(bytes)) return { pointer: '', cause: 'the body is not UTF-8' };
  // RFC 8259 §8.1: a byte order mark may be ignored.
  const hasMark = bytes?.[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const text = bytes ? bytes.toString('utf8', hasMark ? 3 : 0) : (body as string);
  try {
    const keepsNumbers = mustKeepNumbers(text);
    const value = transform(keepsNumbers ? parseKeepingNumbers(text) : (JSON.parse(text) as JsonValue));
    const adapted = JSON.stringify(value);
    const pointer = findViolation && confirmedViolation(value, adapted, keepsNumbers, findViolation);
    if (pointer !== undefined) return { pointer, cause: 'the adapted body violates the contract' };
    if (isEmpty && !hasMark) return body;
    const changed = isEmpty ? text : adapted;
    return isAscii(changed) ? changed : Buffer.from(changed);
  } catch (error) {
    if (error instanceof AdaptationError)
      return { pointer: error.pointer, cause: 'an operation does not fit the body' };
    if (error instanceof SyntaxError) return { pointer: '', cause: 'the body is not JSON' };
    // V8 refuses texts that are nested too deeply.
    if (error instanceof RangeError) return { pointer: '', cause: 'the body is nested too deeply' };
    throw error;
  }
}

export function bufferOf(body: BodyBytes): Buffer {
  return typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
}

export function isBody(result: BodyBytes | BodyFault): result is BodyBytes {
  return typeof result === 'string' || Buffer.isBuffer(result);
}

/** A character that is not ASCII takes two bytes or more in UTF-8. */
function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/**
 * The pointer to a violation of the adapted body; undefined if there is none. `value` is checked first, because to parse `text`
 * takes longer. But a number whose text is kept (`JSON.rawJSON`) is an object in `value`, which the validator rejects. So
 * `text` is parsed and checked if the body has such numbers (`keepsNumbers`), or if `value` seems to violate the contract: a
 * conversion may have made such a number.
 */
function confirmedViolation(
  value: JsonValue,
  text: string,
  keepsNumbers: boolean,
  findViolation: FindViolation,
): string | undefined {
  const mayBeViolated = keepsNumbers || findViolation(value) !== undefined;
  return mayBeViolated ? findViolation(JSON.parse(text)) : undefined;
}

/** Returns the JSON Pointer of a violation of the contract. Undefined: the value has none. */
type FindViolation = (value: unknown) => string | undefined;

/** A validation function of ajv. */
interface Check {
  (value: unknown): boolean;
  readonly errors?: readonly { readonly instancePath: string; readonly params: object }[] | null;
}

/** Checks values against the schemas of an adapted version. */
export class AdaptedBodyValidator {
  readonly #routes: PreparedAdapter['routes'];
  readonly #checks: Readonly<Record<string, Check>>;

  constructor({ checks, routes }: PreparedAdapter) {
    this.#routes = routes;
    this.#checks = checksFrom(checks);
  }

  /** Whether the contract describes a body for this status. */
  hasSchema(route: string, status: number): boolean {
    return (this.#checkNamesFor(route, status)?.size ?? 0) > 0;
  }

  /** Undefined: nothing is checked, because the contract has no schema for such a response, or the schema cannot be compiled. */
  checkFor(route: string, status: number, contentType: string | undefined): FindViolation | undefined {
    const checkNames = this.#checkNamesFor(route, status);
    const type = /^\s*([^;\s]*)/.exec(contentType ?? '')?.[1]?.toLowerCase() ?? '';
    const name =
      checkNames?.get(type) ??
      checkNames?.get(`${type.split('/')[0]}/*`) ??
      checkNames?.get('*/*') ??
      onlyNameIn(checkNames);
    const check = name === undefined || !Object.hasOwn(this.#checks, name) ? undefined : this.#checks[name];
    return check && ((value) => violationOf(check, value));
  }

  /** Key: a media type. Value: the name of the check of its schema. */
  #checkNamesFor(route: string, status: number): ReadonlyMap<string, string> | undefined {
    const responses = this.#routes.get(route)?.responses;
    return (
      responses?.get(String(status)) ?? responses?.get(`${Math.floor(status / 100)}XX`) ?? responses?.get('default')
    );
  }
}

/** The pointer to the violation. Undefined: there is none. */
function violationOf(check: Check, value: unknown): string | undefined {
  if (check(value)) return undefined;
  // ajv lists the error of a `oneOf` or `anyOf` after the errors of its alternatives.
  const error = check.errors?.at(-1);
  const { missingProperty } = (error?.params ?? {}) as { readonly missingProperty?: string };
  return `${error?.instancePath ?? ''}${missingProperty === undefined ? '' : `/${pointerToken(missingProperty)}`}`;
}

const requireHelper = createRequire(import.meta.url);

/** Runs the module of checks that was generated when the configuration was loaded. */
function checksFrom(code: string): Record<string, Check> {
  const checks: Record<string, Check> = {};
  compileFunction(code, ['exports', 'require', 'regExp'])(checks, requireHelper, schemaRegExp);
  return checks;
}

/** If the contract has only one media type, its schema also applies to bodies of other JSON types. */
function onlyNameIn(checkNames: ReadonlyMap<string, string> | undefined): string | undefined {
  return checkNames?.size === 1 ? [...checkNames.values()][0] : undefined;
}
