import { asFlatString, checkedLowerCased, listOfTokens, token } from './grammar.ts';

/** The head of a valid response. */
export interface ResponseHead {
  /** The x of HTTP/1.x. */
  readonly minor: 0 | 1;
  readonly status: number;
  readonly reason: string;
  /** Alternating names and values, as received: in order, with duplicates, latin1. */
  readonly fields: readonly string[];
  /** The names of `fields` in lower case, one for each pair. */
  readonly names: readonly string[];
  /** -1 without Content-Length. */
  readonly contentLength: number;
  readonly chunked: boolean;
  /** The options of `Connection`, in lower case; nearly always empty. */
  readonly connection: readonly string[];
  /** Whether the connection may be used again after this message (RFC 9112 §9.3). */
  readonly persistent: boolean;
  /** `Keep-Alive: timeout=`, in ms; undefined without it. */
  readonly keepAlive: number | undefined;
}

/** The response breaks RFC 9112 or is ambiguous. None of it may be passed on. */
export class MalformedResponse extends Error {
  override readonly name = 'MalformedResponse';
}

/** Wraps an error that a handler throws, so that it ends only the exchange of that handler. */
export function asMalformed(error: unknown): MalformedResponse {
  return error instanceof MalformedResponse ? error : new MalformedResponse(String(error), { cause: error });
}

// Bytes that are not allowed in a head: controls except HTAB, and single CR or LF (RFC 9112 §2.2, RFC 9110 §5.5).
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const forbiddenFrom = new RegExp(forbidden, 'g');
const statusLine = /^HTTP\/1\.([01]) ([1-5][0-9][0-9])(?: (.*))?$/;
const digits = /^[0-9]{1,15}$/;
const noOptions: readonly string[] = [];

/**
 * Parses a head, blank line included. Stricter than a browser: a proxy must not pass on what other parsers read differently.
 * @throws MalformedResponse
 */
export function parseResponseHead(text: string): ResponseHead {
  if (forbidden.test(text)) throw new MalformedResponse('a byte in the head that no field may have');
  let lineEnd = text.indexOf('\r\n');
  const statusMatch = statusLine.exec(text.slice(0, lineEnd));
  if (!statusMatch) throw new MalformedResponse('not an HTTP/1.x status line');
  const minor = statusMatch[1] === '1' ? 1 : 0;

  const fields: string[] = [];
  const names: string[] = [];
  let contentLength = -1;
  let transferEncoding: string | undefined;
  let connection = noOptions;
  let keepAlive: number | undefined;

  for (let start = lineEnd + 2; ; start = lineEnd + 2) {
    lineEnd = text.indexOf('\r\n', start);
    if (lineEnd === start) break;
    const colon = text.indexOf(':', start);
    // This also refuses obs-fold: a line that begins with white space has no token before its colon (RFC 9112 §5.2).
    if (colon === -1 || colon > lineEnd) throw new MalformedResponse('a field line without a colon');
    const name = text.slice(start, colon);
    const lower = checkedLowerCased(name);
    if (lower === undefined) throw new MalformedResponse('a field name that is no token');
    const value = trimmed(text, colon + 1, lineEnd);
    fields.push(name, value);
    names.push(lower);
    switch (lower) {
      case 'content-length':
        if (contentLength !== -1 || !digits.test(value)) throw new MalformedResponse('an invalid Content-Length');
        contentLength = Number(value);
        break;
      case 'transfer-encoding':
        transferEncoding = transferEncoding === undefined ? value : `${transferEncoding},${value}`;
        break;
      case 'connection':
        connection = connection.concat(listOfTokens(value));
        break;
      case 'keep-alive':
        keepAlive = keepAliveOf(value) ?? keepAlive;
        break;
    }
  }
  if (transferEncoding !== undefined) checkTransferEncoding(transferEncoding, contentLength, minor);
  return {
    minor,
    status: Number(statusMatch[2]),
    reason: statusMatch[3] ?? '',
    fields,
    names,
    contentLength,
    chunked: transferEncoding !== undefined,
    connection,
    persistent: !connection.includes('close') && (minor === 1 || connection.includes('keep-alive')),
    keepAlive,
  };
}

// Within one second, the resolution of Date, a backend sends few different heads. Larger heads are rare.
const maxKeptHeads = 16;
const maxKeptHeadLength = 2048;

/**
 * Parses heads, and keeps the latest ones: a backend often sends the same bytes again. The result depends only on these
 * bytes. The heads are kept in an array. In a `Map`, replaced entries would cost garbage collection.
 */
export class ResponseHeads {
  readonly #texts: string[] = [];
  readonly #heads: ResponseHead[] = [];
  #oldest = 0;
  #latest = 0;

  /** Like `parseResponseHead`. @throws MalformedResponse */
  parse(text: string): ResponseHead {
    // The latest head is compared first. A comparison with an older one is slow: such a head differs from `text` only at its Date.
    const index = text === this.#texts[this.#latest] ? this.#latest : this.#texts.indexOf(text);
    if (index !== -1) {
      this.#latest = index;
      return this.#heads[index] as ResponseHead;
    }
    if (text.length > maxKeptHeadLength) return parseResponseHead(text);
    // A copy, because V8 keeps the whole string of a slice in memory, here with the body behind the head.
    const copy = asFlatString(text);
    const head = parseResponseHead(copy);
    // A cookie is meant for one client.
    if (head.names.includes('set-cookie')) return head;
    this.#texts[this.#oldest] = copy;
    this.#heads[this.#oldest] = head;
    this.#latest = this.#oldest;
    this.#oldest = (this.#oldest + 1) % maxKeptHeads;
    return head;
  }
}

/**
 * Checks an incomplete head, of which `seen` characters were checked before, so that an invalid one fails at once.
 * @throws MalformedResponse
 */
export function checkPartialHead(text: string, seen: number): void {
  if (text.length > 8 && !text.startsWith('HTTP/1.')) throw new MalformedResponse('not an HTTP/1.x response');
  // The LF after a CR at the end may still arrive. The text is not sliced: the expression looks at the character before an LF.
  forbiddenFrom.lastIndex = Math.max(0, seen - 1);
  const wrong = forbiddenFrom.exec(text);
  if (wrong && !(wrong[0] === '\r' && wrong.index === text.length - 1)) {
    throw new MalformedResponse('a byte in the head that no field may have');
  }
}

/** Parses the trailer section of a chunked body: field lines, no blank line. @throws MalformedResponse */
export function parseTrailers(text: string): string[] {
  const trailers: string[] = [];
  if (text === '') return trailers;
  if (forbidden.test(text)) throw new MalformedResponse('a byte in the trailers that no field may have');
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (!token.test(line.slice(0, Math.max(colon, 0)))) throw new MalformedResponse('an invalid trailer line');
    trailers.push(line.slice(0, colon), trimmed(line, colon + 1, line.length));
  }
  return trailers;
}

function keepAliveOf(value: string): number | undefined {
  const seconds = /(?:^|[,;\s])timeout=([0-9]{1,9})(?![0-9])/i.exec(value)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

// All listeners of a gateway have the same keep-alive time.
let lastKeepAlive = { ms: Number.NaN, fields: '' };

/** The fields of a response after which the connection stays open, for `ms` between two requests; 0: no limit. */
export function keepAliveFieldsFor(ms: number): string {
  if (lastKeepAlive.ms !== ms) {
    const hint = ms > 0 ? `Keep-Alive: timeout=${Math.floor(ms / 1000)}\r\n` : '';
    lastKeepAlive = { ms, fields: asFlatString(`Connection: keep-alive\r\n${hint}`) };
  }
  return lastKeepAlive.fields;
}

/** RFC 9112 §6.1: the gateway asks for no transfer coding except chunked, and a message with both fields may be an attack. */
function checkTransferEncoding(value: string, contentLength: number, minor: number): void {
  if (value.toLowerCase() !== 'chunked') throw new MalformedResponse('a transfer coding other than a single chunked');
  if (contentLength !== -1) throw new MalformedResponse('both Transfer-Encoding and Content-Length');
  if (minor === 0) throw new MalformedResponse('Transfer-Encoding in HTTP/1.0');
}

/** The text between `start` and `end` without white space around it. */
function trimmed(text: string, start: number, end: number): string {
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** The value of a field; several are joined to a list. Undefined without the field. */
export function responseField({ names, fields }: ResponseHead, name: string): string | undefined {
  let value: string | undefined;
  for (const [index, fieldName] of names.entries()) {
    if (fieldName !== name) continue;
    const line = fields[index * 2 + 1] as string;
    value = value === undefined ? line : `${value}, ${line}`;
  }
  return value;
}

const framingFields = new Set(['content-length', 'content-encoding', 'transfer-encoding', 'trailer']);

/**
 * The head of a response whose body may be changed. `body`: the length of the new body. `unknown`: the response has no body (HEAD,
 * 304), and its head describes a body that would be changed. `same`: the body is passed on. `change` returns the new value of a
 * field; undefined: the field is removed.
 */
export function headForBody(
  head: ResponseHead,
  body: number | 'unknown' | 'same',
  change: (name: string, value: string) => string | undefined,
): ResponseHead {
  const fields: string[] = [];
  const names: string[] = [];
  for (const [index, name] of head.names.entries()) {
    if (body !== 'same' && framingFields.has(name)) continue;
    const value = change(name, head.fields[index * 2 + 1] as string);
    if (value === undefined) continue;
    fields.push(head.fields[index * 2] as string, value);
    names.push(name);
  }
  if (typeof body === 'number') {
    fields.push('Content-Length', String(body));
    names.push('content-length');
  }
  const { minor, status, reason, connection, persistent, keepAlive } = head;
  const framing =
    body === 'same'
      ? { contentLength: head.contentLength, chunked: head.chunked }
      : { contentLength: typeof body === 'number' ? body : -1, chunked: false };
  return { minor, status, reason, fields, names, ...framing, connection, persistent, keepAlive };
}
