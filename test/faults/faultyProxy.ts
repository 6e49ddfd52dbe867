import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export type Fault = 'reset' | 'half-close' | 'silence' | 'delay' | 'garbage';

export type Moment =
  | 'on connect'
  | 'after the request head'
  | 'mid request body'
  | 'before the response head'
  | 'mid response head'
  | 'mid response body'
  | 'after the response';

export interface FaultyProxy {
  readonly url: string;
  /** The number of open connections of the gateway. */
  readonly open: number;
  /** The number of faults so far. */
  readonly faults: number;
  /** Disables the fault for new connections. */
  heal(): void;
}

/** Shorter than the time-outs of these tests. The other faults are permanent. */
const delayMs = 100;
const garbage = '\0\x01 garbage \xff\r\n\r\n';

/** A TCP proxy in front of the backend on `port`. It causes `fault` at `moment` of the first request of each connection. */
export async function startFaultyProxy(port: number, fault: Fault, moment: Moment): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  let [open, faults, healed] = [0, 0, false];
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const backend = connect({ port, host: '127.0.0.1', noDelay: true });
    open += 1;
    client.on('close', () => {
      open -= 1;
      backend.destroy();
    });
    for (const socket of [client, backend]) sockets.add(socket.on('error', () => {}));
    new FaultyConnection(client, backend, fault, healed ? undefined : moment, () => (faults += 1)).start();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get open() {
      return open;
    },
    get faults() {
      return faults;
    },
    heal: () => {
      healed = true;
    },
  };
}

/** A connection of the gateway and its connection to the backend. Text is latin1. */
class FaultyConnection {
  readonly #client: Socket;
  readonly #backend: Socket;
  readonly #fault: Fault;
  /** Undefined once the fault has happened. */
  #moment: Moment | undefined;
  readonly #onFault: () => void;
  #isPaused = false;
  readonly #request: Direction = { received: '', forwarded: 0 };
  readonly #response: Direction = { received: '', forwarded: 0 };

  constructor(client: Socket, backend: Socket, fault: Fault, moment: Moment | undefined, onFault: () => void) {
    this.#client = client;
    this.#backend = backend;
    this.#fault = fault;
    this.#moment = moment;
    this.#onFault = onFault;
  }

  start(): void {
    this.#client.on('data', (data) => this.#receive(this.#request, data));
    this.#backend.on('data', (data) => this.#receive(this.#response, data));
    // The gateway sends FIN only to close the whole connection.
    this.#client.on('end', () => {
      this.#client.end();
      this.#backend.end();
    });
    this.#backend.on('end', () => this.#isPaused || this.#client.end());
    if (this.#moment === 'on connect') this.#causeFault();
  }

  #receive(direction: Direction, data: string | Buffer): void {
    direction.received += data.toString('latin1');
    this.#forward(direction);
  }

  /** Forwards the bytes before the fault, then causes it. */
  #forward(direction: Direction): void {
    if (this.#isPaused) return;
    const isRequest = direction === this.#request;
    const { received } = direction;
    const end = isRequest ? requestFaultAt(received, this.#moment) : responseFaultAt(received, this.#moment);
    const to = isRequest ? this.#backend : this.#client;
    const bytes = received.slice(direction.forwarded, end);
    direction.forwarded += bytes.length;
    const reachesFault = end !== undefined && direction.forwarded >= end;
    if (bytes !== '') to.write(bytes, 'latin1', () => reachesFault && this.#causeFault());
    else if (reachesFault) this.#causeFault();
  }

  #causeFault(): void {
    if (this.#moment === undefined) return;
    this.#moment = undefined;
    this.#onFault();
    if (this.#fault === 'reset') this.#client.resetAndDestroy();
    else if (this.#fault === 'half-close') this.#client.end();
    else if (this.#fault === 'garbage') this.#client.write(garbage, 'latin1');
    this.#isPaused = true;
    if (this.#fault === 'delay') setTimeout(() => this.#resume(), delayMs);
  }

  #resume(): void {
    this.#isPaused = false;
    this.#forward(this.#request);
    this.#forward(this.#response);
  }
}

interface Direction {
  received: string;
  /** The number of bytes sent on. */
  forwarded: number;
}

/** The offset at which the fault happens; undefined if it is not known yet, or not in the request. */
function requestFaultAt(received: string, moment: Moment | undefined): number | undefined {
  const head = received.indexOf('\r\n\r\n') + 4;
  if (head < 4) return undefined;
  if (moment === 'after the request head') return head;
  return moment === 'mid request body' && received.length > head ? head + 1 : undefined;
}

function responseFaultAt(received: string, moment: Moment | undefined): number | undefined {
  const head = received.indexOf('\r\n\r\n') + 4;
  if (moment === 'before the response head') return 0;
  if (moment === 'mid response head') return 20;
  if (head < 4) return undefined;
  if (moment === 'mid response body') return head + 5;
  return moment === 'after the response' ? head + 11 : undefined;
}
