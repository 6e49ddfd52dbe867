/** A response as it was received. All text is latin1: one character is one byte. */
export interface RawResponse {
  readonly version: string;
  readonly status: number;
  readonly reason: string;
  /** Header lines as sent, in order. */
  readonly lines: readonly string[];
  readonly fields: readonly Field[];
  readonly body: string;
  readonly trailers: readonly Field[];
  readonly framing: 'none' | 'length' | 'chunked' | 'close';
  /** The preceding 1xx responses. */
  readonly interim: readonly RawResponse[];
}

export type Field = readonly [name: string, value: string];

export interface Parsed {
  readonly response: RawResponse;
  readonly rest: string;
}

type Head = Omit<RawResponse, 'body' | 'trailers' | 'interim'> & { readonly length: number };

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Every value of a field, in order. */
export function valuesOf(message: { readonly fields: readonly Field[] }, name: string): string[] {
  return message.fields.filter(([each]) => each.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
}

/** The value of a field; undefined if it is absent. Throws if the field occurs twice. */
export function singleValueOf(message: { readonly fields: readonly Field[] }, name: string): string | undefined {
  const values = valuesOf(message, name);
  if (values.length > 1) throw new Error(`${name} occurs ${values.length} times: ${values.join(' | ')}`);
  return values[0];
}

/** The members of a comma-separated field, over all its lines. */
export function membersOf(message: { readonly fields: readonly Field[] }, name: string): string[] {
  return valuesOf(message, name)
    .flatMap((value) => value.split(','))
    .map((member) => member.trim())
    .filter((member) => member !== '');
}

/**
 * Parses one response strictly (RFC 9112 §4 to §7). Undefined: more bytes are needed.
 * Throws if clients could read the bytes in two ways. `ended`: the peer has closed the connection cleanly.
 */
export function parseResponse(bytes: string, method: string, ended: boolean): Parsed | undefined {
  const interim: RawResponse[] = [];
  let rest = bytes;
  for (;;) {
    const head = parseHead(rest, method);
    if (head === undefined) return undefined;
    const after = rest.slice(head.length);
    if (head.status < 200 && head.status !== 101) {
      interim.push({ ...head, body: '', trailers: [], interim: [] });
      rest = after;
      continue;
    }
    const body = parseBody(head, after, ended);
    return body && { response: { ...head, ...body.content, interim }, rest: body.rest };
  }
}

export function parseHead(bytes: string, method: string): Head | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.slice(0, end).split('\r\n');
  const status = /^HTTP\/(1\.[01]) ([1-5]\d\d) ([\t\x20-\x7e\x80-\xff]*)$/.exec(first);
  if (!status) throw new Error(`bad status line: ${JSON.stringify(first)}`);
  const [, version = '', code = '', reason = ''] = status;
  const fields = lines.map(parseField);
  const head = { version, status: Number(code), reason, lines, fields, length: end + 4 };
  return { ...head, framing: framingOf(head, method) };
}

function parseField(line: string): Field {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon);
  const value = line.slice(colon + 1);
  if (colon < 0 || !token.test(name)) throw new Error(`bad header line: ${JSON.stringify(line)}`);
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new Error(`control character in ${JSON.stringify(line)}`);
  return [name, value.replace(/^[\t ]+|[\t ]+$/g, '')];
}

/** RFC 9112 §6.3. */
function framingOf(head: Pick<Head, 'status' | 'fields'>, method: string): RawResponse['framing'] {
  const coding = singleValueOf(head, 'transfer-encoding');
  const length = singleValueOf(head, 'content-length');
  const bodiless = head.status < 200 || head.status === 204;
  if (coding !== undefined && length !== undefined) throw new Error('both Transfer-Encoding and Content-Length');
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw new Error(`Transfer-Encoding: ${coding}`);
  if (length !== undefined && !/^\d+$/.test(length)) throw new Error(`Content-Length: ${length}`);
  // RFC 9110 §8.6 and RFC 9112 §6.1: neither field in a 1xx or 204.
  if (bodiless && (coding ?? length) !== undefined) throw new Error(`a ${head.status} that frames a body`);
  if (bodiless || head.status === 304 || method === 'HEAD') return 'none';
  if (coding !== undefined) return 'chunked';
  return length === undefined ? 'close' : 'length';
}

interface Body {
  readonly content: Pick<RawResponse, 'body' | 'trailers'>;
  readonly rest: string;
}

function parseBody(head: Head, bytes: string, ended: boolean): Body | undefined {
  if (head.framing === 'none') return { content: { body: '', trailers: [] }, rest: bytes };
  if (head.framing === 'chunked') return parseChunked(bytes);
  if (head.framing === 'close') return ended ? { content: { body: bytes, trailers: [] }, rest: '' } : undefined;
  const length = Number(singleValueOf(head, 'content-length'));
  if (bytes.length < length) return undefined;
  return { content: { body: bytes.slice(0, length), trailers: [] }, rest: bytes.slice(length) };
}

/** RFC 9112 §7.1. */
export function parseChunked(bytes: string): Body | undefined {
  let at = 0;
  let body = '';
  for (;;) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const size = /^([0-9a-fA-F]{1,12})(?:[ \t]*;[^\r\n]*)?$/.exec(bytes.slice(at, line))?.[1];
    if (size === undefined) throw new Error(`bad chunk size: ${JSON.stringify(bytes.slice(at, line))}`);
    const length = Number.parseInt(size, 16);
    at = line + 2;
    if (length === 0) return parseTrailers(bytes, at, body);
    if (bytes.length < at + length + 2) return undefined;
    body += bytes.slice(at, at + length);
    at += length;
    if (bytes.slice(at, at + 2) !== '\r\n') throw new Error('a chunk without its CRLF');
    at += 2;
  }
}

function parseTrailers(bytes: string, at: number, body: string): Body | undefined {
  if (bytes.startsWith('\r\n', at)) return { content: { body, trailers: [] }, rest: bytes.slice(at + 2) };
  const end = bytes.indexOf('\r\n\r\n', at);
  if (end < 0) return undefined;
  const trailers = bytes.slice(at, end).split('\r\n').map(parseField);
  return { content: { body, trailers }, rest: bytes.slice(end + 4) };
}
