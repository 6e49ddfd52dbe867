import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Connection, Endpoint } from '../../gateway/http1/connection.ts';
import type { ResponseHead } from '../../gateway/http1/responseHead.ts';
import type { ResponseHandler, WireFailure } from '../../gateway/http1/responseReader.ts';

export interface Backend {
  readonly endpoint: Endpoint;
  /** Its side of each connection, in the order in which they were made. */
  readonly sockets: readonly Socket[];
}

/** A listener on a port of its own; closed at the end of the test; `onRequest` is called with whatever arrives. */
export async function startBackend(onRequest: (socket: Socket) => void): Promise<Backend> {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('data', () => onRequest(socket)).on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { endpoint: { host: '127.0.0.1', port, tls: undefined }, sockets };
}

/** What came of one exchange. */
export interface Outcome {
  readonly status: number | undefined;
  readonly body: string;
  readonly failure: WireFailure | undefined;
}

/** Sends a GET over `connection` and waits for what comes of it. */
export function exchange(connection: Connection): Promise<Outcome> {
  return new Promise((resolve) => {
    connection.send(new Recorder(resolve), 'GET / HTTP/1.1\r\nHost: api.test\r\n\r\n', true, true, 0);
  });
}

class Recorder implements ResponseHandler {
  readonly #resolve: (outcome: Outcome) => void;
  #status: number | undefined;
  #body = '';

  constructor(resolve: (outcome: Outcome) => void) {
    this.#resolve = resolve;
  }

  onHead({ status }: ResponseHead): void {
    this.#status = status;
  }

  onData(chunk: Buffer): boolean {
    this.#body += chunk.toString('latin1');
    return true;
  }

  onComplete({ status }: ResponseHead, body: string): void {
    this.#resolve({ status, body, failure: undefined });
  }

  onEnd(): void {
    this.#resolve({ status: this.#status, body: this.#body, failure: undefined });
  }

  onFailure(failure: WireFailure): void {
    this.#resolve({ status: this.#status, body: this.#body, failure });
  }

  onConnected(): void {}
  onInformation(): void {}
}
