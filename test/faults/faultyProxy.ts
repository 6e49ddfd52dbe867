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
  /** Connections of the gateway that are open right now. */
  readonly open: number;
  /** How often the fault has happened. */
  readonly strikes: number;
  /** New connections are without fault from now on. */
  heal(): void;
}

/** Shorter than the time-outs of these tests; every other fault is for good. */
const delayMs = 100;
const garbage = '\0\x01 garbage \xff\r\n\r\n';

/** Stands between a gateway and the backend on `port`, and lets `fault` happen at `moment` of every connection's first exchange. */
export async function startFaultyProxy(port: number, fault: Fault, moment: Moment): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  let [open, strikes, healed] = [0, 0, false];
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true });
    open += 1;
    near.on('close', () => {
      open -= 1;
      far.destroy();
    });
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
    const link = new Link(near, far, fault, healed ? undefined : moment, () => (strikes += 1));
    link.begin();
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
    get strikes() {
      return strikes;
    },
    heal: () => {
      healed = true;
    },
  };
}

/** A connection of the gateway, and the one behind it. Text is latin1. */
class Link {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #fault: Fault;
  /** Undefined once the fault has happened. */
  #moment: Moment | undefined;
  readonly #onStrike: () => void;
  #held = false;
  readonly #request: Way = { came: '', passed: 0 };
  readonly #response: Way = { came: '', passed: 0 };

  constructor(near: Socket, far: Socket, fault: Fault, moment: Moment | undefined, onStrike: () => void) {
    this.#near = near;
    this.#far = far;
    this.#fault = fault;
    this.#moment = moment;
    this.#onStrike = onStrike;
  }

  begin(): void {
    this.#near.on('data', (data) => this.#take(this.#request, data));
    this.#far.on('data', (data) => this.#take(this.#response, data));
    // A FIN of the gateway means that it has gone.
    this.#near.on('end', () => {
      this.#near.end();
      this.#far.end();
    });
    this.#far.on('end', () => this.#held || this.#near.end());
    if (this.#moment === 'on connect') this.#strike();
  }

  #take(way: Way, data: string | Buffer): void {
    way.came += data.toString('latin1');
    this.#pass(way);
  }

  /** Passes on what may pass; the fault happens where that ends. */
  #pass(way: Way): void {
    if (this.#held) return;
    const end = way === this.#request ? requestCut(way.came, this.#moment) : responseCut(way.came, this.#moment);
    const to = way === this.#request ? this.#far : this.#near;
    const bytes = way.came.slice(way.passed, end);
    way.passed += bytes.length;
    const strikes = end !== undefined && way.passed >= end;
    if (bytes !== '') to.write(bytes, 'latin1', () => strikes && this.#strike());
    else if (strikes) this.#strike();
  }

  #strike(): void {
    if (this.#moment === undefined) return;
    this.#moment = undefined;
    this.#onStrike();
    if (this.#fault === 'reset') this.#near.resetAndDestroy();
    else if (this.#fault === 'half-close') this.#near.end();
    else if (this.#fault === 'garbage') this.#near.write(garbage, 'latin1');
    this.#held = true;
    if (this.#fault === 'delay') setTimeout(() => this.#release(), delayMs);
  }

  #release(): void {
    this.#held = false;
    this.#pass(this.#request);
    this.#pass(this.#response);
  }
}

interface Way {
  came: string;
  passed: number;
}

function requestCut(came: string, moment: Moment | undefined): number | undefined {
  const head = came.indexOf('\r\n\r\n') + 4;
  if (head < 4) return undefined;
  if (moment === 'after the request head') return head;
  return moment === 'mid request body' && came.length > head ? head + 1 : undefined;
}

function responseCut(came: string, moment: Moment | undefined): number | undefined {
  const head = came.indexOf('\r\n\r\n') + 4;
  if (moment === 'before the response head') return 0;
  if (moment === 'mid response head') return 20;
  if (head < 4) return undefined;
  if (moment === 'mid response body') return head + 5;
  return moment === 'after the response' ? head + 11 : undefined;
}
