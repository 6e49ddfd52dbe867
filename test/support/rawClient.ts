import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { parseHead, parseResponse, type RawResponse } from './response.ts';

/** Long, because a busy machine must not fail a test. Shorter than the limit of the test runner. */
const waitMs = 30_000;

/** A message head with these lines and the empty line at its end. */
export function message(...lines: string[]): string {
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** `GET target` with a Host and these fields. */
export function get(target: string, ...fields: string[]): string {
  return message(`GET ${target} HTTP/1.1`, 'Host: api.test', ...fields);
}

/** A POST with a Host and a Content-Length. */
export function post(target: string, body: string, ...fields: string[]): string {
  return message(`POST ${target} HTTP/1.1`, 'Host: api.test', `Content-Length: ${body.length}`, ...fields) + body;
}

/** A POST with a chunked body. `chunks` is sent unchanged, so it must contain the chunk sizes. */
export function chunked(target: string, chunks: string, ...fields: string[]): string {
  return message(`POST ${target} HTTP/1.1`, 'Host: api.test', 'Transfer-Encoding: chunked', ...fields) + chunks;
}

/** A client that sends and receives raw bytes on one connection. Text is latin1. */
export class RawClient {
  readonly socket: Socket;
  #received = '';
  #closed: 'end' | 'reset' | undefined;
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (data) => this.#update(() => (this.#received += data.toString('latin1'))));
    socket.on('end', () => this.#update(() => (this.#closed ??= 'end')));
    socket.on('error', () => this.#update(() => (this.#closed ??= 'reset')));
    socket.on('close', () => this.#update(() => (this.#closed ??= 'reset')));
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

  /** The next response; `method` is that of its request. Rejects if it is incomplete, malformed or late. */
  async response(method = 'GET'): Promise<RawResponse> {
    const parse = () => parseResponse(this.#received, method, this.#closed === 'end');
    await this.#until(() => parse() !== undefined || this.#closed !== undefined, 'a complete response');
    const parsed = parse();
    if (!parsed) throw new Error(`the response was cut off by ${this.#closed}: ${this.#excerpt()}`);
    this.#received = parsed.rest;
    return parsed.response;
  }

  /** A response that clients recognize as incomplete. Rejects if it looks complete. */
  async abortedResponse(method = 'GET'): Promise<{ status: number; partial: string }> {
    await this.#until(() => this.#closed !== undefined, 'the end of an incomplete response');
    if (parseResponse(this.#received, method, this.#closed === 'end')) {
      throw new Error(`the response ended as if it were complete: ${this.#excerpt()}`);
    }
    const head = parseHead(this.#received, method);
    if (!head) throw new Error(`no response head: ${this.#excerpt()}`);
    return { status: head.status, partial: this.#received.slice(head.length) };
  }

  /** The next bytes of a tunnel, once they have arrived. */
  async bytes(count: number): Promise<string> {
    await this.#until(() => this.#received.length >= count || this.#closed !== undefined, `${count} bytes`);
    const taken = this.#received.slice(0, count);
    this.#received = this.#received.slice(count);
    return taken;
  }

  /** Waits for the peer to close; `leftover`: bytes that no returned response contains. */
  async closed(): Promise<{ by: 'end' | 'reset'; leftover: string }> {
    await this.#until(() => this.#closed !== undefined, 'the connection to be closed');
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

  #update(change: () => void): void {
    change();
    this.#wake();
  }

  async #until(condition: () => boolean, what: string): Promise<void> {
    const deadline = Date.now() + waitMs;
    while (!condition()) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`waited ${waitMs} ms for ${what}; so far: ${this.#excerpt()}`);
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

/** Sends `bytes` over a new connection, reads one response and closes the connection. */
export async function ask(
  port: number,
  bytes: string,
  method = bytes.slice(0, bytes.indexOf(' ')),
): Promise<RawResponse> {
  const client = await connectTo(port);
  client.send(bytes);
  try {
    return await client.response(method);
  } finally {
    client.socket.destroy();
  }
}
