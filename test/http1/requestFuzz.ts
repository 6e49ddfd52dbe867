import { createRequire } from 'node:module';
import { type PlainRequest, parsePlainRequest } from '../../gateway/http1/plainRequest.ts';
import { Random } from '../support/random.ts';
import { otherRequests, plainRequests } from './requestCorpus.ts';

/** The parser that node:http uses, without its streams. Undocumented. */
interface NodeParser {
  initialize(type: number, resource: object, maxHeaderSize: number, lenient: number): void;
  /** The number of bytes read, or an error. */
  execute(bytes: Buffer): number | Error;
  [callback: number]: (...args: never[]) => unknown;
}

interface HttpCommon {
  readonly HTTPParser: {
    new (): NodeParser;
    readonly REQUEST: number;
    readonly kOnHeaders: number;
    readonly kOnHeadersComplete: number;
    readonly kOnBody: number;
    readonly kOnMessageComplete: number;
  };
}

const { HTTPParser }: HttpCommon = createRequire(import.meta.url)('node:_http_common');
// The numbers of llhttp.
const methods = new Map([
  [0, 'DELETE'],
  [1, 'GET'],
  [2, 'HEAD'],
  [3, 'POST'],
  [4, 'PUT'],
  [6, 'OPTIONS'],
  [28, 'PATCH'],
]);

interface NodeRequest {
  readonly version: string;
  readonly method: string | undefined;
  readonly target: string;
  readonly fields: readonly string[];
  readonly keepsAlive: boolean;
  readonly upgrade: boolean;
  bodyLength: number;
  complete: boolean;
}

/** What node's parser reads. */
class NodeReader {
  requests: NodeRequest[] = [];
  readonly #parser = new HTTPParser();
  // Heads with many fields arrive in several parts.
  #fields: string[] = [];
  #target = '';

  constructor() {
    this.#parser[HTTPParser.kOnHeaders] = (fields: string[], target: string) => {
      this.#fields.push(...fields);
      this.#target += target;
    };
    this.#parser[HTTPParser.kOnHeadersComplete] = (
      major: number,
      minor: number,
      fields: string[] | undefined,
      method: number,
      target: string | undefined,
      _status: undefined,
      _reason: undefined,
      upgrade: boolean,
      keepsAlive: boolean,
    ) => {
      this.requests.push({
        version: `${major}.${minor}`,
        method: methods.get(method),
        target: this.#target + (target ?? ''),
        fields: [...this.#fields, ...(fields ?? [])],
        keepsAlive,
        upgrade,
        bodyLength: 0,
        complete: false,
      });
      this.#fields = [];
      this.#target = '';
      return 0;
    };
    this.#parser[HTTPParser.kOnBody] = (bytes: Buffer) => {
      const last = this.requests.at(-1);
      if (last) last.bodyLength += bytes.length;
    };
    this.#parser[HTTPParser.kOnMessageComplete] = () => {
      const last = this.requests.at(-1);
      if (last) last.complete = true;
    };
  }

  begin(): void {
    this.requests = [];
    this.#fields = [];
    this.#target = '';
    this.#parser.initialize(HTTPParser.REQUEST, {}, 16 * 1024, 0);
  }

  read(bytes: Buffer): void {
    const result = this.#parser.execute(bytes);
    if (result !== bytes.length) throw new Error(`node's parser stopped: ${String(result)}`);
  }
}

const reader = new NodeReader();
const next = Buffer.from('GET /next HTTP/1.1\r\nHost: next\r\n\r\n');
// A larger body is not sent.
const maxBody = 64 * 1024;

/**
 * Compares how the fast lane and node's parser read the same bytes. False: the fast lane does not accept them.
 * @throws an error with the bytes if there is a difference
 */
export function readsLikeNode(text: string): boolean {
  const bytes = Buffer.from(text, 'latin1');
  const plain = parsePlainRequest(bytes, bytes.length);
  if (!plain) return false;
  try {
    compare(plain, bytes);
  } catch (error) {
    throw new Error(`${String(error)}: ${JSON.stringify(text)}`);
  }
  return true;
}

function compare({ method, target, fields, contentLength, headLength }: PlainRequest, bytes: Buffer): void {
  reader.begin();
  reader.read(bytes.subarray(0, headLength));
  const [request] = reader.requests;
  if (!request) throw new Error('the head ends later for node');
  const expected = { version: '1.1', method, target, fields, keepsAlive: true, upgrade: false, bodyLength: 0 };
  const complete = contentLength === 0;
  const [mine, theirs] = [JSON.stringify({ ...expected, complete }), JSON.stringify(request)];
  if (mine !== theirs) throw new Error(`${mine} is not ${theirs}`);
  if (contentLength > maxBody) return;
  if (contentLength > 0) {
    const received = bytes.subarray(headLength, headLength + contentLength);
    reader.read(Buffer.concat([received, Buffer.alloc(contentLength - received.length, 'x')]));
  }
  if (!request.complete || request.bodyLength !== contentLength) throw new Error('the body has another length');
  // If the message ended anywhere else, this would not be the next one.
  reader.read(next);
  if (reader.requests.length !== 2 || reader.requests[1]?.target !== '/next') throw new Error('another next request');
}

// Mostly requests that are accepted before they are changed.
const corpus = [plainRequests, plainRequests, plainRequests, plainRequests, plainRequests, otherRequests].flat();
const interesting = [
  ...[
    '\r',
    '\n',
    '\r\n',
    '\r\n\r\n',
    ' ',
    '\t',
    ':',
    ';',
    ',',
    '\0',
    '\x0b',
    '\x7f',
    '\x80',
    '\xa0',
    '\xff',
    '#',
    '?',
    '%',
  ],
  ...['/', '//', '..', '\\', '"', '<', '{', '|', '^', '`', '~', '*', '@', '[', ']', '_', '-', '.', '0', '9', 'A', 'é'],
];
const fields = [
  ...[
    'Host: b',
    'host:',
    'HOST: a',
    'Connection: close',
    'Connection: keep-alive',
    'connection: Upgrade',
    'Connection:',
  ],
  ...['Upgrade: h2c', 'Transfer-Encoding: chunked', 'transfer-encoding:', 'Transfer_Encoding: chunked', 'TE: chunked'],
  ...['Content-Length: 0', 'Content-Length: 3', 'content-length: 03', 'Content-Length: 1 ', 'Content-Length: 0x1'],
  ...['Content-Length: -1', 'Content_Length: 4', 'Expect: 100-continue', 'Trailer: X', 'Proxy-Connection: close'],
  ...[
    'Proxy-Connection: keep-alive',
    'HTTP2-Settings: AAMAAABkAAQ',
    'X: y',
    'X :y',
    ' X: y',
    'X: y\tz',
    'X',
    ': y',
    'X:',
  ],
  ...['__proto__: 1', 'Cookie: a=b', 'Content-Length : 4', 'Keep-Alive: 5', 'Via: 1.1 a', 'X: a\r\n b', 'X: \xe9'],
];
const starts = [
  ...['GET /v1/x HTTP/1.1', 'POST /v1/x HTTP/1.1', 'GET /v1/x HTTP/1.0', 'GET /v1/x HTTP/2.0', 'GET /v1/x HTTP/1.10'],
  ...[
    'GET /v1/x http/1.1',
    'GET /v1/x',
    'GET * HTTP/1.1',
    'PRI * HTTP/2.0',
    'QUERY /v1/x HTTP/1.1',
    'M-SEARCH /v1 HTTP/1.1',
  ],
  ...['GET\t/v1/x HTTP/1.1', 'GET /v1/x  HTTP/1.1', 'GET /v1/x HTTP/1.1 ', 'GET /v1/x\tHTTP/1.1', 'SOURCE /v1 ICE/1.0'],
];

type Mutation = (text: string, random: Random) => string;

const mutations: readonly Mutation[] = [
  (text, random) => splice(text, random.below(text.length + 1), 0, random.of(interesting)),
  (text, random) => splice(text, random.below(text.length + 1), 1, random.of(interesting)),
  (text, random) => splice(text, random.below(text.length + 1), 1, String.fromCharCode(random.below(256))),
  (text, random) => splice(text, random.below(text.length + 1), 1 + random.below(4), ''),
  (text, random) => text.slice(0, random.below(text.length + 1)),
  (text, random) => onLines(text, (all) => all.splice(1 + random.below(all.length), 0, random.of(fields))),
  (text, random) => onLines(text, (all) => all.splice(1 + random.below(all.length), 0, random.of(fields))),
  (text, random) => onLines(text, (all) => all.splice(random.below(all.length), 1)),
  (text, random) => onLines(text, (all) => all.splice(random.below(all.length), 0, random.of(all))),
  (text, random) => onLines(text, (all) => all.splice(0, 1, random.of(starts))),
  (text, random) => onLine(text, random, (line) => line.toUpperCase()),
  (text, random) => onLine(text, random, (line) => line.toLowerCase()),
  (text, random) => onLine(text, random, (line) => line.replace(': ', random.of([':', ' :', ':  ', ':\t', '::', ';']))),
  (text, random) => onLine(text, random, (line) => line + random.of([' ', '\t', '\r', '\0', ','])),
  (text, random) => text.replace('\r\n', random.of(['\n', '\r', '\r\r\n', '\n\r', '\r\n ', '\r\n\t'])),
  (text, random) => text + random.of(corpus),
  (text, random) => random.of(interesting) + text,
  (text, random) => text + 'x'.repeat(random.below(20)),
];

/** Compares mutants of the corpus. Returns how many of them the fast lane accepts. */
export function compareMutants(seed: number, count: number): number {
  const random = new Random(seed);
  let accepted = 0;
  for (let done = 0; done < count; done += 1) {
    let text = random.of(corpus);
    for (let left = 1 + random.below(2); left > 0; left -= 1) text = random.of(mutations)(text, random);
    if (readsLikeNode(text)) accepted += 1;
  }
  return accepted;
}

function splice(text: string, at: number, remove: number, insert: string): string {
  return text.slice(0, at) + insert + text.slice(at + remove);
}

function onLines(text: string, change: (lines: string[]) => void): string {
  const end = text.indexOf('\r\n\r\n');
  if (end <= 0) return text;
  const lines = text.slice(0, end).split('\r\n');
  change(lines);
  return lines.join('\r\n') + text.slice(end);
}

function onLine(text: string, random: Random, change: (line: string) => string): string {
  return onLines(text, (lines) => {
    const at = random.below(lines.length);
    lines[at] = change(lines[at] as string);
  });
}
