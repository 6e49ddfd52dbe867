import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Changes the fields of a response, names and values in turn, right before they are sent. */
export type OnHead = (status: number, fields: string[]) => void;

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];
type Callback = (error?: Error | null) => void;

// Far more than any head; what is larger is passed on as it comes.
const mostHeld = 64 * 1024;
// What the lifecycle writes or reads: the others are left as they were set.
const concerned = ['deprecation', 'sunset', 'link', 'access-control-allow-origin', 'access-control-expose-headers'];

/** Calls `onHead` with the final response head, whoever writes it and however: `res.end()` calls writeHead as well. */
export function interceptHead(res: ServerResponse, onHead: OnHead): void {
  const { writeHead } = res;
  res.writeHead = (status: number, reason?: string | Headers, given?: Headers): ServerResponse => {
    res.writeHead = writeHead;
    const message = typeof reason === 'string' ? reason : undefined;
    const headers = typeof reason === 'string' ? given : (given ?? reason);
    const raw = Array.isArray(headers) && res.getHeaderNames().length === 0 ? flat(headers) : undefined;
    if (raw) onHead(status, raw);
    else {
      setAll(res, headers);
      changeSet(res, status, onHead);
    }
    if (message === undefined) return raw ? res.writeHead(status, raw) : res.writeHead(status);
    return raw ? res.writeHead(status, message, raw) : res.writeHead(status, message);
  };
}

/** As node:http does it itself where fields were set before. */
function setAll(res: ServerResponse, headers: Headers | undefined): void {
  if (headers === undefined) return;
  if (!Array.isArray(headers)) {
    for (const [name, value] of Object.entries(headers))
      if (name !== '') res.setHeader(name, value as OutgoingHttpHeader);
    return;
  }
  const fields = flat(headers);
  for (let at = 0; at < fields.length; at += 2) res.removeHeader(fields[at] as string);
  for (let at = 0; at < fields.length; at += 2) res.appendHeader(fields[at] as string, fields[at + 1] as string);
}

/** Only the concerned fields: node:http takes the removal of some others for a wish. */
function changeSet(res: ServerResponse, status: number, onHead: OnHead): void {
  const fields: string[] = [];
  for (const name of namesIn(res)) {
    const lower = name.toLowerCase();
    if (!concerned.includes(lower) && lower !== 'content-type') continue;
    for (const value of [res.getHeader(name) ?? []].flat()) fields.push(name, String(value));
  }
  onHead(status, fields);
  for (const name of concerned) res.removeHeader(name);
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] as string;
    if (concerned.includes(name.toLowerCase())) res.appendHeader(name, fields[at + 1] as string);
  }
}

/** As they are spelled. Every OutgoingMessage has the method; its types know it of a ClientRequest only. */
function namesIn(res: ServerResponse & { getRawHeaderNames?: () => string[] }): string[] {
  return res.getRawHeaderNames?.() ?? res.getHeaderNames();
}

/** Names and values in turn, of `[name, value, …]`, `[[name, value], …]` and values that are lists. */
function flat(headers: OutgoingHttpHeader[]): string[] {
  const pairs = Array.isArray(headers[0]) ? headers.flat() : headers;
  const fields: string[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    for (const value of [pairs[at + 1] ?? []].flat()) fields.push(String(pairs[at]), String(value));
  }
  return fields;
}

/** The same for a response that is written to a socket as text: what comes before the first blank line. */
export function interceptSocketHead(socket: Duplex, onHead: OnHead): void {
  const { write, end } = socket;
  let held = Buffer.alloc(0);
  const restore = (): void => {
    socket.write = write;
    socket.end = end;
  };
  /** Undefined: the head is not complete yet. */
  const take = (chunk: string | Uint8Array, encoding: BufferEncoding | undefined): Buffer | undefined => {
    held = Buffer.concat([held, typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk]);
    const text = held.toString('latin1', 0, mostHeld);
    const isHead = 'HTTP/1.'.startsWith(text.slice(0, 7));
    const headEnd = text.indexOf('\r\n\r\n');
    if (isHead && headEnd === -1 && held.length < mostHeld) return undefined;
    restore();
    const head = isHead && headEnd !== -1 ? rewritten(text.slice(0, headEnd), onHead) : undefined;
    return head === undefined ? held : Buffer.concat([Buffer.from(head, 'latin1'), held.subarray(headEnd)]);
  };
  socket.write = (chunk: string | Uint8Array, encoding?: BufferEncoding | Callback, callback?: Callback): boolean => {
    const done = typeof encoding === 'function' ? encoding : callback;
    const bytes = take(chunk, typeof encoding === 'function' ? undefined : encoding);
    if (bytes) return socket.write(bytes, done);
    if (done) process.nextTick(done);
    return true;
  };
  socket.end = (
    chunk?: string | Uint8Array | (() => void),
    encoding?: BufferEncoding | (() => void),
    callback?: () => void,
  ) => {
    const done = [chunk, encoding, callback].find((one) => typeof one === 'function');
    const hasChunk = chunk !== undefined && chunk !== null && typeof chunk !== 'function';
    const bytes = hasChunk ? take(chunk, typeof encoding === 'function' ? undefined : encoding) : undefined;
    restore();
    const last = bytes ?? held;
    return last.length > 0 ? socket.end(last, done) : socket.end(done);
  };
}

/** Undefined for what is no head. */
function rewritten(head: string, onHead: OnHead): string | undefined {
  const [first = '', ...lines] = head.split('\r\n');
  const status = /^HTTP\/1\.[01] ([1-5][0-9][0-9])(?: |$)/.exec(first)?.[1];
  const fields: string[] = [];
  for (const line of lines) {
    const [, name, value] = /^([^\s:]+):[ \t]*(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    fields.push(name, value);
  }
  if (status === undefined) return undefined;
  onHead(Number(status), fields);
  let text = first;
  for (let at = 0; at < fields.length; at += 2) text += `\r\n${fields[at]}: ${fields[at + 1]}`;
  return text;
}
