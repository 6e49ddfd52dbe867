import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Switching } from '../forwarding/outbound.ts';
import { Exchange } from './exchange.ts';
import { run } from './http.ts';
import type { GatewayContext } from './live.ts';
import { afterEarlierResponses } from './pipeliningOrder.ts';

// What a client may send before the protocol is switched; more waits in the kernel.
const mostEarly = 64 * 1024;

/**
 * Whether to let node:http hand over the socket. Not for h2c, which HTTP/2 has given up (RFC 9113 §3.1) and which
 * tunnels requests past every check; and not for a request with a body, which would have to be told from the stream.
 * Both go on as plain requests: a server may ignore an Upgrade (RFC 9110 §7.8).
 */
export function shouldUpgrade(req: IncomingMessage): boolean {
  const { upgrade = '', 'content-length': length, 'transfer-encoding': coding } = req.headers;
  const bodiless = (length === undefined || Number(length) === 0) && coding === undefined;
  return (
    bodiless && req.httpVersionMinor === 1 && /^[\w!#$%&'*+.^`|~/,\t -]+$/.test(upgrade) && !/\bh2c\b/i.test(upgrade)
  );
}

/** Takes an upgrade, or a CONNECT, through the same steps. `head`: what came behind the request already. */
export function handleUpgrade(req: IncomingMessage, socket: Socket, head: Buffer, context: GatewayContext): void {
  // node:http has let go of the socket: nobody else would hear of a reset.
  socket.on('error', () => socket.destroy());
  const upgrade = new EarlyData(socket, head, req.headers.upgrade ?? '');
  afterEarlierResponses(socket, () => {
    if (!socket.writable) return;
    // Whatever is not a 101 is an ordinary response, and written by the ordinary code.
    const res = new ServerResponse(req);
    res.shouldKeepAlive = false;
    res.assignSocket(socket);
    res.on('finish', () => socket.destroySoon());
    upgrade.begin();
    run(new Exchange(req, res, context, false, upgrade));
  });
}

/** Reads on, so that a client that leaves is heard, and keeps what it says until somebody asks for it. */
class EarlyData implements Switching {
  readonly protocol: string;
  readonly #socket: Socket;
  readonly #held: Buffer[];
  #size: number;
  #begun = false;
  #left = false;

  constructor(socket: Socket, head: Buffer, protocol: string) {
    this.protocol = protocol;
    this.#socket = socket;
    this.#held = [head];
    this.#size = head.length;
    socket.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** Its turn has come; a client that has left in the meantime is not waited for. */
  begin(): void {
    this.#begun = true;
    if (this.#left) this.#socket.destroy();
  }

  takeEarly(): Buffer {
    this.#socket.off('data', this.#onData).off('end', this.#onEnd);
    return Buffer.concat(this.#held);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#held.push(chunk);
    this.#size += chunk.length;
    if (this.#size > mostEarly) this.#socket.pause();
  };

  /** What was asked before is still answered. */
  readonly #onEnd = (): void => {
    this.#left = true;
    if (this.#begun) this.#socket.destroy();
  };
}
