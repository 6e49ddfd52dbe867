import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import type { ParserError } from './parserProblem.ts';

// How far a connection is read ahead of the response that it waits for.
const mostWaiting = 16;
const mostBytes = 64 * 1024;
// The same while many connections pipeline: parsed requests cost time and memory, and none of them can be run yet.
const mostWhenCrowded = 2;
// Where the parser is another server's, the connection is closed instead.
const mostUnstopped = 1000;
// The bytes that pipelined requests may take, over all connections of a process. Beyond them the answer is 503.
const mostOverall = Math.min(64 * 2 ** 20, getHeapStatistics().heap_size_limit / 8);

const crowded = mostOverall / 16;

// Estimates. node:http makes two streams for a request, and reads up to two chunks of a body that nobody consumes.
const bytesOfRequest = 2048;
const bytesOfField = 64;
const mostOfBody = 128 * 1024;

/** llhttp's error for a pause. A callback that returns it pauses the parser at this very byte. */
const pause = { number: 21, code: 'HPE_PAUSED' } as const;

/** What node:http does not document of its sockets; `test/wire/pipelinedFlood.test.ts` notices a change. */
interface ParsedSocket extends Socket {
  readonly parser?: {
    /** Called for each message once its head is complete; returns what llhttp is to do. */
    onIncoming: ((req: ParsedMessage, keepAlive: boolean) => number) | null;
    resume(): void;
  } | null;
  /** node:http has stopped reading, and will resume reading and parsing once the client takes its responses. */
  _paused: boolean;
}

interface ParsedMessage extends IncomingMessage {
  readonly upgrade?: boolean | null;
}

const stopping = new WeakSet<object>();
const connections = new WeakMap<Socket, ReadAhead>();

// Over all connections of this process.
let overall = 0;

/**
 * What one connection has sent ahead of its turn. When that is too much, the parser stops behind the current head: what
 * follows stays bytes, and is read no further than `mostBytes`, so that TCP holds the client back.
 */
class ReadAhead {
  readonly #socket: ParsedSocket;
  readonly #stops: boolean;
  #waiting = 0;
  /** Of the requests that wait. */
  #bytes = 0;
  #unparsed: Buffer[] = [];
  #unparsedBytes = 0;
  #stopped = false;
  #latest: IncomingMessage | undefined;
  #refused: IncomingMessage | undefined;

  constructor(socket: Socket) {
    this.#socket = socket as ParsedSocket;
    socket.once('close', () => this.#forget());
    const { server } = this.#socket;
    this.#stops = server !== null && stopping.has(server) && this.#stopParserWhenFull();
  }

  /** False: there was no room for this request. It is to be answered 503, and to end the connection. */
  admits(req: IncomingMessage): boolean {
    return req !== this.#refused;
  }

  /** `req` begins to wait. Returns the bytes that it is charged, for `leave`. */
  enter(req: IncomingMessage): number {
    const bytes = bytesOf(req);
    this.#latest = req;
    this.#waiting += 1;
    this.#charge(bytes);
    if (overall > mostOverall) {
      this.#refused ??= req;
      req.resume();
    }
    // Another server's parser cannot be stopped.
    if (!this.#stops && (this.#refused || this.#waiting > mostUnstopped)) this.#socket.destroy();
    return bytes;
  }

  /** A request waits no longer. */
  leave(bytes: number): void {
    this.#waiting -= 1;
    this.#charge(-bytes);
    if (this.#stopped && !this.#isFull(mayWait() / 2)) process.nextTick(() => this.#readOn());
  }

  /** Keeps what of `packet` came behind the head at which the parser was stopped. */
  keepUnparsed(packet: Buffer, bytesParsed: number): void {
    // A parser that is stopped already still reports where it was stopped, in a packet that is long gone.
    const bytes = this.#stopped ? packet : packet.subarray(bytesParsed);
    this.#stopped = true;
    // Only `#readOn` may resume the parser now: node:http would let it read later bytes before these.
    this.#socket._paused = false;
    if (overall + bytes.length > mostOverall) this.#refused ??= this.#latest;
    this.#unparsedBytes += bytes.length;
    // Nobody will parse what comes behind a refusal.
    if (this.#refused) {
      this.#dropUnparsed();
    } else {
      overall += bytes.length;
      // A small rest of a large chunk would keep the whole chunk.
      this.#unparsed.push(bytes.length * 2 < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes);
    }
    // Until then reading goes on, because only by reading is a client noticed that leaves. And behind the last answer,
    // because closing a socket with unread bytes could destroy that answer.
    if (this.#unparsedBytes >= mostBytes && !this.#socket.writableEnded) this.#socket.pause();
  }

  #stopParserWhenFull(): boolean {
    const { parser } = this.#socket;
    const onIncoming = parser?.onIncoming;
    if (!parser || !onIncoming) return false;
    parser.onIncoming = (req, keepAlive) => {
      const result = onIncoming(req, keepAlive);
      // What follows an upgrade is not HTTP: node:http hands it over as bytes.
      return result === 0 && !req.upgrade && this.#isFull(mayWait()) ? pause.number : result;
    };
    return true;
  }

  #isFull(most: number): boolean {
    return this.#refused !== undefined || this.#waiting > most || this.#bytes > mostBytes;
  }

  #readOn(): void {
    const socket = this.#socket;
    if (!this.#stopped || this.#isFull(mayWait() / 2) || socket.destroyed || !socket.parser) return;
    const bytes = Buffer.concat(this.#unparsed);
    this.#dropUnparsed();
    this.#unparsedBytes = 0;
    this.#stopped = false;
    socket.parser.resume();
    socket.resume();
    if (bytes.length > 0) socket.emit('data', bytes);
  }

  #charge(bytes: number): void {
    this.#bytes += bytes;
    overall += bytes;
  }

  #dropUnparsed(): void {
    for (const { length } of this.#unparsed) overall -= length;
    this.#unparsed = [];
  }

  #forget(): void {
    this.#dropUnparsed();
    this.#charge(-this.#bytes);
  }
}

/** How many requests of one connection may wait. Parsing resumes at half of them, so that it goes in batches. */
function mayWait(): number {
  return overall > crowded ? mostWhenCrowded : mostWaiting;
}

/** Of the connection `socket`, from its first request that has to wait. */
export function readAheadOf(socket: Socket): ReadAhead {
  const known = connections.get(socket);
  if (known) return known;
  const made = new ReadAhead(socket);
  connections.set(socket, made);
  return made;
}

/** Lets the parsers of `server` be stopped. Its `clientError` listener has to ask `isStop`. */
export function stopParsers(server: Server): void {
  stopping.add(server);
}

/** Whether a parser's error says that it was stopped here, and is no error of the client. */
export function isStop({ code, rawPacket, bytesParsed = 0 }: ParserError, socket: Socket): boolean {
  const readAhead = code === pause.code ? connections.get(socket) : undefined;
  if (!readAhead || !rawPacket) return false;
  readAhead.keepUnparsed(rawPacket, bytesParsed);
  return true;
}

/** The bytes that a request takes while it waits. */
function bytesOf({ url = '', rawHeaders, headers }: IncomingMessage): number {
  let bytes = bytesOfRequest + url.length + bytesOfField * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  const { 'content-length': length = 0, 'transfer-encoding': coding } = headers;
  return bytes + (coding === undefined ? Math.min(Number(length) || 0, mostOfBody) : mostOfBody);
}
