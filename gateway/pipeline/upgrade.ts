import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Exchange } from './exchange.ts';
import { run } from './http.ts';
import type { Surroundings } from './live.ts';

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

/** Takes an upgrade through the same steps. `early`: what came behind the head already. */
export function handleUpgrade(req: IncomingMessage, socket: Socket, early: Buffer, surroundings: Surroundings): void {
  // node:http has let go of the socket: nobody else would hear of a reset.
  socket.on('error', () => socket.destroy());
  // Whatever is not a 101 is an ordinary response, and written by the ordinary code.
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket);
  res.on('finish', () => socket.destroySoon());
  const upgrade = { protocol: req.headers.upgrade ?? '', early };
  // A path that is none of ours is left to the host's other listeners, untouched.
  if (!run(new Exchange(req, res, surroundings, false, upgrade))) res.detachSocket(socket);
}
