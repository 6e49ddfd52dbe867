import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Changes the fields of a response right before they are sent. `fields`: alternating names and values. */
type ChangeHead = (status: number, fields: string[]) => void;

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];
type Callback = (error?: Error | null) => void;

// Larger than any real head. A larger one is passed on unchanged.
const maxHeadBytes = 64 * 1024;
// The fields that `changeHead` may change. All others stay as they were set.
const changeableNames = [
  'deprecation',
  'sunset',
  'link',
  'access-control-allow-origin',
  'access-control-expose-headers',
  'vary',
  'cache-control',
];

/** Calls `changeHead` with the final response head. node:http calls `writeHead` for each final head, also in `res.end()`. */
export function interceptResponseHead(res: ServerResponse, changeHead: ChangeHead): void {
  const { writeHead } = res;
  res.writeHead = (
    status: number,
    reasonOrHeaders?: string | Headers,
    headersAfterReason?: Headers,
  ): ServerResponse => {
    const reason = typeof reasonOrHeaders === 'string' ? reasonOrHeaders : undefined;
    const headers = typeof reasonOrHeaders === 'string' ? headersAfterReason : (headersAfterReason ?? reasonOrHeaders);
    // If `headers` is a list and no field was set before, the changed list is passed to `writeHead`. Otherwise all fields are first
    // set on `res`, and changed there.
    const fields = Array.isArray(headers) && res.getHeaderNames().length === 0 ? flatFields(headers) : undefined;
    if (fields) changeHead(status, fields);
    else {
      setFields(res, headers);
      changeFieldsOf(res, status, changeHead);
    }
    const { writeHead: intercepting } = res;
    res.writeHead = writeHead;
    try {
      if (reason === undefined) return fields ? res.writeHead(status, fields) : res.writeHead(status);
      return fields ? res.writeHead(status, reason, fields) : res.writeHead(status, reason);
    } catch (error) {
      // A field is invalid. `writeHead` is intercepted again, because the application will send another head. Without `fields`, the
      // fields on `res` are changed already.
      if (fields) res.writeHead = intercepting;
      throw error;
    }
  };
}

/** Sets fields as the `writeHead` of node:http does if other fields were set before. */
function setFields(res: ServerResponse, headers: Headers | undefined): void {
  if (headers === undefined) return;
  if (!Array.isArray(headers)) {
    for (const [name, value] of Object.entries(headers))
      if (name !== '') res.setHeader(name, value as OutgoingHttpHeader);
    return;
  }
  const fields = flatFields(headers);
  for (let at = 0; at < fields.length; at += 2) res.removeHeader(fields[at] as string);
  for (let at = 0; at < fields.length; at += 2) res.appendHeader(fields[at] as string, fields[at + 1] as string);
}

/**
 * Calls `changeHead` with fields that were set on `res`, and sets the result. Only the fields in `changeableNames` are removed and
 * set again: if Date or Connection were removed, node:http would add a different one.
 */
function changeFieldsOf(res: ServerResponse, status: number, changeHead: ChangeHead): void {
  const fields: string[] = [];
  for (const name of namesIn(res)) {
    const lower = name.toLowerCase();
    // `changeHead` also reads the content type.
    if (!changeableNames.includes(lower) && lower !== 'content-type') continue;
    for (const value of [res.getHeader(name) ?? []].flat()) fields.push(name, String(value));
  }
  changeHead(status, fields);
  for (const name of changeableNames) res.removeHeader(name);
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] as string;
    if (changeableNames.includes(name.toLowerCase())) res.appendHeader(name, fields[at + 1] as string);
  }
}

/** The names as they were spelled. Every OutgoingMessage has this method; the types declare it for ClientRequest only. */
function namesIn(res: ServerResponse & { getRawHeaderNames?: () => string[] }): string[] {
  return res.getRawHeaderNames?.() ?? res.getHeaderNames();
}

/** Alternating names and values, from `[name, value, …]`, `[[name, value], …]` and values that are lists. */
function flatFields(headers: OutgoingHttpHeader[]): string[] {
  const pairs = Array.isArray(headers[0]) ? headers.flat() : headers;
  const fields: string[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    for (const value of [pairs[at + 1] ?? []].flat()) fields.push(String(pairs[at]), String(value));
  }
  return fields;
}

/** Like `interceptResponseHead` for a response that is written to a socket as text. */
export function interceptSocketHead(socket: Duplex, changeHead: ChangeHead): void {
  const { write, end } = socket;
  let buffered = Buffer.alloc(0);
  const restore = (): void => {
    socket.write = write;
    socket.end = end;
  };
  /** Adds `chunk` to the head. Returns all bytes so far once the head is complete; undefined until then. */
  const addToHead = (chunk: string | Uint8Array, encoding: BufferEncoding | undefined): Buffer | undefined => {
    buffered = Buffer.concat([buffered, typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk]);
    const text = buffered.toString('latin1', 0, maxHeadBytes);
    const mayBeHead = 'HTTP/1.'.startsWith(text.slice(0, 7));
    const headEnd = text.indexOf('\r\n\r\n');
    if (mayBeHead && headEnd === -1 && buffered.length < maxHeadBytes) return undefined;
    restore();
    const head = mayBeHead && headEnd !== -1 ? rewrittenHead(text.slice(0, headEnd), changeHead) : undefined;
    return head === undefined ? buffered : Buffer.concat([Buffer.from(head, 'latin1'), buffered.subarray(headEnd)]);
  };
  socket.write = (chunk: string | Uint8Array, encoding?: BufferEncoding | Callback, callback?: Callback): boolean => {
    const done = typeof encoding === 'function' ? encoding : callback;
    const bytes = addToHead(chunk, typeof encoding === 'function' ? undefined : encoding);
    if (bytes) return socket.write(bytes, done);
    if (done) process.nextTick(done);
    return true;
  };
  socket.end = (
    chunk?: string | Uint8Array | (() => void),
    encoding?: BufferEncoding | (() => void),
    callback?: () => void,
  ) => {
    const done = [chunk, encoding, callback].find((argument) => typeof argument === 'function');
    const hasChunk = chunk !== undefined && chunk !== null && typeof chunk !== 'function';
    const bytes = hasChunk ? addToHead(chunk, typeof encoding === 'function' ? undefined : encoding) : undefined;
    restore();
    const unsent = bytes ?? buffered;
    return unsent.length > 0 ? socket.end(unsent, done) : socket.end(done);
  };
}

/** Undefined if the text is not a response head. */
function rewrittenHead(head: string, changeHead: ChangeHead): string | undefined {
  const [statusLine = '', ...lines] = head.split('\r\n');
  const status = /^HTTP\/1\.[01] ([1-5][0-9][0-9])(?: |$)/.exec(statusLine)?.[1];
  const fields: string[] = [];
  for (const line of lines) {
    const [, name, value] = /^([^\s:]+):[ \t]*(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    fields.push(name, value);
  }
  if (status === undefined) return undefined;
  changeHead(Number(status), fields);
  let text = statusLine;
  for (let at = 0; at < fields.length; at += 2) text += `\r\n${fields[at]}: ${fields[at + 1]}`;
  return text;
}
