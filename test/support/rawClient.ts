import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { parseHead, parseResponse, type RawResponse } from './response.ts';

/** Longer than any time-out that a test sets, shorter than the patience of the test runner. */
const patienceMs = 3_000;

/** The lines of a message head: joined by CRLF, closed by an empty line. */
export function message(...lines: string[]): string {
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** `GET target` with a Host, and more fields. */
export function get(target: string, ...fields: string[]): string {
  return message(`GET ${target} HTTP/1.1`, 'Host: api.test', ...fields);
}

/** A request with a Host and a body of a known length. */
export function post(target: string, body: string, ...fields: string[]): string {
  return message(`POST ${target} HTTP/1.1`, 'Host: api.test', `Content-Length: ${body.length}`, ...fields) + body;
}

/** A request whose body is `chunks`, sent unchanged and with their sizes. */
export function chunked(target: string, chunks: string, ...fields: string[]): string {
  return message(`POST ${target} HTTP/1.1`, 'Host: api.test', 'Transfer-Encoding: chunked', ...fields) + chunks;
}

/** One connection, byte by byte. Text is latin1. */
export class RawClient {
  readonly socket: Socket;
  #received = '';
  #closed: 'end' | 'reset' | undefined;
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (data) => this.#note(() => (this.#received += data.toString('latin1'))));
    socket.on('end', () => this.#note(() => (this.#closed ??= 'end')));
    socket.on('error', () => this.#note(() => (this.#closed ??= 'reset')));
    socket.on('close', () => this.#note(() => (this.#closed ??= 'reset')));
  }

  /** The bytes that `response` or `bytes` have not returned yet. */
  get pending(): string {
    return this.#received;
  }

  send(bytes: string | Buffer): void {
    if (this.socket.writable) this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  async sendPieces(pieces: Iterable<string>, pauseMs = 5): Promise<void> {
    for (const piece of pieces) {
      this.send(piece);
      await sleep(pauseMs);
    }
  }

  /** The next answer; `method` is that of its request. Rejects if it is incomplete, malformed or late. */
  async response(method = 'GET', withinMs = patienceMs): Promise<RawResponse> {
    const parse = () => parseResponse(this.#received, method, this.#closed === 'end');
    await this.#until(() => parse() !== undefined || this.#closed !== undefined, 'a whole answer', withinMs);
    const parsed = parse();
    if (!parsed) throw new Error(`the answer was cut off by ${this.#closed}: ${this.#excerpt()}`);
    this.#received = parsed.rest;
    return parsed.response;
  }

  /** An answer that is visibly incomplete. Rejects if it looks complete. */
  async abortedResponse(method = 'GET'): Promise<{ status: number; partial: string }> {
    await this.#until(() => this.#closed !== undefined, 'the end of a broken answer');
    if (parseResponse(this.#received, method, this.#closed === 'end')) {
      throw new Error(`the answer ended as if it were whole: ${this.#excerpt()}`);
    }
    const head = parseHead(this.#received, method);
    if (!head) throw new Error(`no head of an answer: ${this.#excerpt()}`);
    return { status: head.status, partial: this.#received.slice(head.length) };
  }

  /** The next bytes of a tunnel, once they have arrived. */
  async bytes(count: number): Promise<string> {
    await this.#until(() => this.#received.length >= count || this.#closed !== undefined, `${count} bytes`);
    const taken = this.#received.slice(0, count);
    this.#received = this.#received.slice(count);
    return taken;
  }

  /** Waits for the peer to close; `leftover`: bytes that belong to no answer returned so far. */
  async closed(withinMs = patienceMs): Promise<{ by: 'end' | 'reset'; leftover: string }> {
    await this.#until(() => this.#closed !== undefined, 'the connection to be closed', withinMs);
    return { by: this.#closed ?? 'reset', leftover: this.#received };
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Closes the sending side only. */
  end(): void {
    this.socket.end();
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  #note(change: () => void): void {
    change();
    this.#wake();
  }

  async #until(condition: () => boolean, what: string, withinMs = patienceMs): Promise<void> {
    const deadline = Date.now() + withinMs;
    while (!condition()) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`waited ${withinMs} ms for ${what}; so far: ${this.#excerpt()}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  #excerpt(): string {
    return JSON.stringify(this.#received.slice(0, 600));
  }
}

/** A connection that is closed at the end of the test. */
export async function connectTo(port: number, host = '127.0.0.1'): Promise<RawClient> {
  const socket = connect({ port, host });
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  return new RawClient(socket);
}

/** Sends `bytes` over a new connection and reads one answer. */
export async function ask(
  port: number,
  bytes: string,
  method = bytes.slice(0, bytes.indexOf(' ')),
): Promise<RawResponse> {
  const client = await connectTo(port);
  client.send(bytes);
  return client.response(method);
}
