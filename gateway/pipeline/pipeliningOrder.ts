import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { readAheadOf } from './readAhead.ts';

/** node:http keeps the response that is being sent on a connection in this property, and shows it nowhere else. */
interface ServerSocket extends Socket {
  readonly _httpMessage?: ServerResponse<IncomingMessage> | null;
}

const latest = new WeakMap<Socket, ServerResponse>();

/** The response that `socket` is busy with, if any. */
export function currentResponse(socket: Socket): ServerResponse<IncomingMessage> | undefined {
  return (socket as ServerSocket)._httpMessage ?? undefined;
}

/**
 * Handles the requests of one connection one after the other: `run` is called once the response, which is behind others,
 * has the connection to itself, and never when it ends before that. It is told whether there was room for the request
 * to wait. node:http hands pipelined requests over as it reads them and only sorts their responses: a DELETE would
 * overtake the GET before it, and a refusal would speak for a request that is under way (RFC 9112 §9.3.2).
 */
export function runInOrder(req: IncomingMessage, res: ServerResponse, run: (hadRoom: boolean) => void): void {
  const { socket } = req;
  const before = lastOn(socket);
  latest.set(socket, res);
  const readAhead = readAheadOf(socket);
  const bytes = readAhead.enter(req);
  res.once('close', () => {
    if (latest.get(socket) === res) latest.delete(socket);
  });
  const next = (): void => {
    if (!socket.writable) return;
    // In somebody else's server there may be answers between ours.
    const other = res.socket === null ? currentResponse(socket) : undefined;
    if (other) {
      other.once('close', next);
      return;
    }
    readAhead.leave(bytes);
    run(readAhead.admits(req));
  };
  before?.once('close', next);
}

/** Calls `run` when all that came before on `socket` is answered: for what has no response of node's, such as an upgrade. */
export function afterEarlierResponses(socket: Socket, run: () => void): void {
  const before = lastOn(socket);
  if (before) before.once('close', () => afterEarlierResponses(socket, run));
  else run();
}

function lastOn(socket: Socket): ServerResponse | undefined {
  return latest.get(socket) ?? currentResponse(socket);
}
