import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { after, unwatch, type Waiting, watch } from './deadlines.ts';
import type { Endpoint } from './endpoint.ts';
import type { ResponseHandler, WireFailureKind } from './handler.ts';
import { ResponseReader } from './responseReader.ts';

// All plain connections read into this one buffer: a read and its handling are one synchronous step,
// and whatever outlives it is copied. A buffer a connection would cost 64 KiB each.
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** Who hears of a connection that is free again, or gone. */
export interface ConnectionOwner {
  onIdle(connection: Connection, keepAliveHint: number): void;
  onClose(connection: Connection): void;
}

/** One connection to a target: one exchange at a time, then idle in its pool. */
export class Connection implements Waiting {
  deadline = Number.POSITIVE_INFINITY;
  /** How many exchanges it has carried before the present one: above 0 it may have been closed behind our back. */
  served = -1;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #reader: ResponseReader;
  #handler: ResponseHandler | undefined;
  #connected = false;
  #requestSent = false;
  #silence = 0;
  #cause = 'closed';

  constructor(endpoint: Endpoint, connectTimeout: number, owner: ConnectionOwner) {
    this.#owner = owner;
    this.#reader = new ResponseReader();
    this.#socket = endpoint.tls
      ? connectTls({ ...endpoint.tls, host: endpoint.host, port: endpoint.port, ALPNProtocols: ['http/1.1'] })
      : connect({
          host: endpoint.host,
          port: endpoint.port,
          allowHalfOpen: true,
          onread: { buffer: readBuffer, callback: (length, buffer) => this.#onRead(buffer as Buffer, length) },
        });
    this.deadline = after(connectTimeout);
    if (endpoint.tls) this.#socket.on('data', (chunk: Buffer) => this.#onRead(chunk, chunk.length) || this.pause());
    this.#socket
      .setNoDelay(true)
      .on(endpoint.tls ? 'secureConnect' : 'connect', () => this.#onConnected())
      .on('drain', () => this.#handler?.onDrain())
      .on('end', () => this.#onEnd())
      .on('error', (error) => {
        this.#cause = error.message;
      })
      .on('close', () => this.#onClose());
    watch(this);
  }

  /** Whether any of the present response has arrived. */
  get heard(): boolean {
    return this.#reader.heard;
  }

  get closed(): boolean {
    return this.#socket.destroyed;
  }

  /**
   * Sends the head of a request. `bodiless` says that nothing follows it; `expectBody` is false for HEAD.
   * What the handler does not take within `firstByte` ms of the last byte sent fails with `timeout`.
   */
  send(handler: ResponseHandler, head: string, bodiless: boolean, expectBody: boolean, firstByte: number): void {
    this.served += 1;
    this.#handler = handler;
    this.#silence = firstByte;
    this.#requestSent = bodiless;
    this.#reader.begin(expectBody);
    this.#socket.write(head, 'latin1');
    if (!this.#connected) return;
    this.expect(firstByte);
    if (!bodiless) handler.onConnected();
  }

  /** False when the target does not keep up: wait for `onDrain`. */
  write(chunk: Buffer | string): boolean {
    return this.#socket.write(chunk, 'latin1');
  }

  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  /** The request is complete. */
  finish(): void {
    this.#requestSent = true;
  }

  /** Ends our side only: an upgraded stream that is done in one direction. */
  endWriting(): void {
    this.#socket.end();
  }

  /** From now on a silence of `ms` fails the exchange; each read starts it anew. 0 waits for ever. */
  expect(ms: number): void {
    this.#silence = ms;
    this.deadline = after(ms);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Drops the connection; the handler hears no more. */
  destroy(): void {
    this.#handler = undefined;
    this.#socket.destroy();
  }

  onDeadline(): void {
    if (this.#handler) this.#fail(this.#connected ? 'timeout' : 'connect-timeout', 'timed out');
    else this.destroy();
  }

  #onConnected(): void {
    this.#connected = true;
    this.expect(this.#silence);
    this.#handler?.onConnected();
  }

  #onRead(buffer: Buffer, length: number): boolean {
    const handler = this.#handler;
    // Nobody asked: bytes behind a response, or a target that speaks first. Either way they answer no request of ours.
    if (!handler) {
      this.destroy();
      return false;
    }
    if (this.#reader.inBody) this.deadline = after(this.#silence);
    const outcome = this.#reader.read(buffer, length, handler);
    if (this.#handler !== handler) return true;
    if (outcome === 'more') return true;
    if (outcome === 'paused') return false;
    if (outcome === 'done') this.#onResponse(handler);
    else this.#fail('malformed', outcome.message);
    return true;
  }

  /** Frees the connection before it tells: the next request may then use it. */
  #onResponse(handler: ResponseHandler): void {
    const reader = this.#reader;
    this.#handler = undefined;
    this.deadline = Number.POSITIVE_INFINITY;
    if (reader.reusable && this.#requestSent && !this.closed) this.#owner.onIdle(this, reader.keepAlive);
    else this.#socket.destroy();
    reader.deliver(handler);
  }

  #onEnd(): void {
    const handler = this.#handler;
    if (handler && this.#reader.endsWithConnection) this.#onResponse(handler);
    else if (handler) this.#fail('lost', 'closed by the target');
    else this.#socket.destroy();
  }

  #onClose(): void {
    unwatch(this);
    this.#owner.onClose(this);
    if (this.#handler) this.#fail(this.#connected ? 'lost' : 'unreachable', this.#cause);
  }

  #fail(kind: WireFailureKind, cause: string): void {
    const handler = this.#handler;
    this.destroy();
    handler?.onFailure({ kind, cause });
  }
}
