import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';

// The parser of a connection is paused if more requests than this wait on it, or if they have more bytes than this.
const maxWaitingRequests = 16;
const maxConnectionBytes = 64 * 1024;
// The limit of requests while many connections pipeline: parsed requests cost time and memory before they can run.
const maxWaitingCrowded = 2;
// The parser of a server that an application has created cannot be paused. If more requests wait on a connection of such a
// server, the connection is closed.
const maxWaitingUnpausable = 1000;
// The memory of pipelined requests on all connections of the process. Beyond it the answer is 503.
const maxTotalBytes = Math.min(64 * 2 ** 20, getHeapStatistics().heap_size_limit / 8);

// Above this total, many connections pipeline, and `maxWaitingCrowded` applies.
const crowdedBytes = maxTotalBytes / 16;

// Estimates of the memory for a request, which has two streams in node:http, and for each name and value of its fields.
const requestOverheadBytes = 2048;
const fieldTextOverheadBytes = 64;
// node:http reads up to two chunks of a body before the body is consumed.
const maxUnreadBodyBytes = 128 * 1024;

/** llhttp's error for a pause. A callback that returns it pauses the parser at the current byte. */
const pause = { number: 21, code: 'HPE_PAUSED' } as const;

const readAheadOnSocket = Symbol('readAhead');
const canPauseParsers = Symbol('canPauseParsers');

interface PausableServer extends Server {
  [canPauseParsers]?: boolean;
}

/** `parser` and `_paused` are undocumented properties of node:http. `test/wire/pipelinedFlood.test.ts` detects a change. */
interface ParsedSocket extends Socket {
  readonly server: PausableServer | null;
  [readAheadOnSocket]?: ReadAhead;
  readonly parser?: {
    /** Called for each message when its head is complete. The result is an instruction for llhttp. */
    onIncoming: ((req: ParsedMessage, keepAlive: boolean) => number) | null;
    resume(): void;
  } | null;
  /** node:http has paused reading, and resumes reading and parsing once the client reads its responses. */
  _paused: boolean;
}

interface ParsedMessage extends IncomingMessage {
  readonly upgrade?: boolean | null;
}

/** What node's parser reports with an error. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

// Counts the bytes of all connections of this process.
let totalBytes = 0;

/**
 * The pipelined requests of one connection that wait for earlier responses. If they are too many, the parser is paused
 * after the current head. Later bytes are kept unparsed, up to `maxConnectionBytes`; then reading stops, and TCP slows the
 * client.
 */
class ReadAhead {
  readonly #socket: ParsedSocket;
  readonly #canPause: boolean;
  #waiting = 0;
  /** Estimated size of the waiting requests. */
  #bytes = 0;
  #unparsed: Buffer[] = [];
  #unparsedBytes = 0;
  #paused = false;
  #latestRequest: IncomingMessage | undefined;
  #firstRefused: IncomingMessage | undefined;

  constructor(socket: ParsedSocket) {
    this.#socket = socket;
    socket.once('close', () => this.#forget());
    this.#canPause = socket.server?.[canPauseParsers] === true && this.#pauseParserWhenFull();
  }

  /** False: there was no memory for this request. The caller answers 503 and closes the connection, so later requests never run. */
  hadMemory(req: IncomingMessage): boolean {
    return req !== this.#firstRefused;
  }

  /** `req` begins to wait. Returns the bytes it is charged for; pass them to `leave`. */
  enter(req: IncomingMessage): number {
    const bytes = bytesOf(req);
    this.#latestRequest = req;
    this.#waiting += 1;
    this.#charge(bytes);
    if (totalBytes > maxTotalBytes) {
      this.#firstRefused ??= req;
      req.resume();
    }
    if (!this.#canPause && (this.#firstRefused || this.#waiting > maxWaitingUnpausable)) this.#socket.destroy();
    return bytes;
  }

  /** A request no longer waits. */
  leave(bytes: number): void {
    this.#waiting -= 1;
    this.#charge(-bytes);
    if (this.#paused && !this.#isFull(waitingLimit() / 2)) process.nextTick(() => this.#resume());
  }

  /** Keeps the part of `packet` after the head at which the parser was paused. */
  keepUnparsed(packet: Buffer, bytesParsed: number): void {
    // A paused parser keeps reporting the offset of the pause, which does not apply to later packets.
    const bytes = this.#paused ? packet : packet.subarray(bytesParsed);
    this.#paused = true;
    // While `_paused` is true, node:http may resume the parser, which would then read later bytes before these. Only `#resume` may
    // resume it.
    this.#socket._paused = false;
    // Without memory for these bytes, the request before them is the last one of the connection, and gets the 503.
    if (totalBytes + bytes.length > maxTotalBytes) this.#firstRefused ??= this.#latestRequest;
    this.#unparsedBytes += bytes.length;
    // Bytes after a refused request are never parsed.
    if (this.#firstRefused) {
      this.#dropUnparsed();
    } else {
      totalBytes += bytes.length;
      // A small part of a large chunk is copied, because the part would keep the whole chunk in memory.
      this.#unparsed.push(bytes.length * 2 < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes);
    }
    // Below `maxConnectionBytes` the socket is still read, because only reading detects that the client has disconnected. It is
    // also read after the last answer: closing a socket with unread bytes resets it, and the answer may be lost.
    if (this.#unparsedBytes >= maxConnectionBytes && !this.#socket.writableEnded) this.#socket.pause();
  }

  #pauseParserWhenFull(): boolean {
    const { parser } = this.#socket;
    const onIncoming = parser?.onIncoming;
    if (!parser || !onIncoming) return false;
    parser.onIncoming = (req, keepAlive) => {
      const result = onIncoming(req, keepAlive);
      // Not after an upgrade: the bytes after it are not HTTP, and node:http hands them over.
      return result === 0 && !req.upgrade && this.#isFull(waitingLimit()) ? pause.number : result;
    };
    return true;
  }

  #isFull(limit: number): boolean {
    return this.#firstRefused !== undefined || this.#waiting > limit || this.#bytes > maxConnectionBytes;
  }

  #resume(): void {
    const socket = this.#socket;
    if (!this.#paused || this.#isFull(waitingLimit() / 2) || socket.destroyed || !socket.parser) return;
    const bytes = Buffer.concat(this.#unparsed);
    this.#dropUnparsed();
    this.#unparsedBytes = 0;
    this.#paused = false;
    socket.parser.resume();
    socket.resume();
    if (bytes.length > 0) socket.emit('data', bytes);
  }

  #charge(bytes: number): void {
    this.#bytes += bytes;
    totalBytes += bytes;
  }

  #dropUnparsed(): void {
    for (const { length } of this.#unparsed) totalBytes -= length;
    this.#unparsed = [];
  }

  #forget(): void {
    this.#dropUnparsed();
    this.#charge(-this.#bytes);
  }
}

/** How many requests of one connection may wait. Parsing resumes at half of it, so that requests are parsed in batches. */
function waitingLimit(): number {
  return totalBytes > crowdedBytes ? maxWaitingCrowded : maxWaitingRequests;
}

/** The read-ahead state of a connection, created for its first request that has to wait. */
export function readAheadOf(socket: Socket): ReadAhead {
  const parsedSocket = socket as ParsedSocket;
  parsedSocket[readAheadOnSocket] ??= new ReadAhead(parsedSocket);
  return parsedSocket[readAheadOnSocket];
}

/** Bytes of one connection that wait unparsed outside of its `ReadAhead`: behind a request of the fast lane. */
export class UnparsedBytes {
  length = 0;
  #buffer = Buffer.alloc(0);

  /** Keeps a copy of `bytes`. False: there is no memory for it. */
  add(bytes: Buffer): boolean {
    if (totalBytes + bytes.length > maxTotalBytes) return false;
    totalBytes += bytes.length;
    const length = this.length + bytes.length;
    if (length > this.#buffer.length) {
      // Twice as long, so that a client that sends single bytes does not cause a copy of all earlier ones each time.
      const longer = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.length));
      this.#buffer.copy(longer, 0, 0, this.length);
      this.#buffer = longer;
    }
    bytes.copy(this.#buffer, this.length);
    this.length = length;
    return true;
  }

  /** Removes all bytes and returns them. */
  take(): Buffer {
    const bytes = this.#buffer.subarray(0, this.length);
    totalBytes -= this.length;
    this.#buffer = Buffer.alloc(0);
    this.length = 0;
    return bytes;
  }
}

/** Allows pausing the parsers of `server`. Its `clientError` listener must call `isParserPause` first. */
export function allowParserPause(server: PausableServer): void {
  server[canPauseParsers] = true;
}

/** Whether an error of the parser only reports our own pause. */
export function isParserPause({ code, rawPacket, bytesParsed = 0 }: ParserError, socket: Socket): boolean {
  const readAhead = code === pause.code ? (socket as ParsedSocket)[readAheadOnSocket] : undefined;
  if (!readAhead || !rawPacket) return false;
  readAhead.keepUnparsed(rawPacket, bytesParsed);
  return true;
}

/** Estimated memory of a waiting request. */
function bytesOf({ url = '', rawHeaders, headers }: IncomingMessage): number {
  let bytes = requestOverheadBytes + url.length + fieldTextOverheadBytes * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  const { 'content-length': length = 0, 'transfer-encoding': coding } = headers;
  return bytes + (coding === undefined ? Math.min(Number(length) || 0, maxUnreadBodyBytes) : maxUnreadBodyBytes);
}
