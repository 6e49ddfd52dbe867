import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** node:http keeps the response that is being sent in this property. */
interface ServerSocket extends Socket {
  readonly _httpMessage?: ServerResponse | null;
}

/** The response that the next pipelined one has to wait for, where that is not the one being sent. */
const lastWaiting = new WeakMap<Socket, ServerResponse>();

/**
 * Runs requests of one connection one after the other. node:http hands over pipelined ones as it reads them, and only
 * sorts their responses: a DELETE would overtake the GET before it (RFC 9112 §9.3.2).
 */
export function inTurn(req: IncomingMessage, res: ServerResponse, run: () => void): void {
  // A response has its socket from the start unless others are before it, which is nearly always.
  if (res.socket !== null) {
    run();
    return;
  }
  const socket: ServerSocket = req.socket;
  const before = lastWaiting.get(socket) ?? socket._httpMessage;
  lastWaiting.set(socket, res);
  before?.once('close', () => {
    if (lastWaiting.get(socket) === res) lastWaiting.delete(socket);
    run();
  });
}
