import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { EarlyData } from '../forwarding/earlyData.ts';
import type { GatewayContext } from './context.ts';
import { Exchange } from './exchange.ts';
import { runExchange } from './http.ts';
import { afterEarlierResponses } from './pipeliningOrder.ts';

/**
 * Whether node:http hands over the socket. Not for h2c, which RFC 9113 §3.1 has deprecated and which tunnels requests past
 * every check; and not for a request with a body, which would have to be separated from the stream. Both are handled as
 * plain requests: a server may ignore Upgrade (RFC 9110 §7.8).
 */
export function shouldUpgrade(req: IncomingMessage): boolean {
  const { upgrade = '', 'content-length': length, 'transfer-encoding': coding } = req.headers;
  const bodiless = (length === undefined || Number(length) === 0) && coding === undefined;
  return (
    bodiless && req.httpVersionMinor === 1 && /^[\w!#$%&'*+.^`|~/,\t -]+$/.test(upgrade) && !/\bh2c\b/i.test(upgrade)
  );
}

/** Runs the steps for an upgrade or a CONNECT. `head`: the bytes that came together with the request. */
export function handleUpgrade(req: IncomingMessage, socket: Socket, head: Buffer, context: GatewayContext): void {
  // node:http no longer listens to this socket, and an `error` without a listener ends the process.
  socket.on('error', () => socket.destroy());
  const earlyData = new EarlyData(socket, head, req.headers.upgrade ?? '');
  afterEarlierResponses(socket, () => {
    if (!socket.writable) return;
    // Any answer but a 101 is an ordinary response, written by the ordinary code.
    const res = new ServerResponse(req);
    res.shouldKeepAlive = false;
    res.assignSocket(socket);
    res.on('finish', () => socket.destroySoon());
    earlyData.start();
    runExchange(new Exchange(req, res, context, false, earlyData));
  });
}
