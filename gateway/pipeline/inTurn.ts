import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** node:http keeps the response that is being sent on a connection in this property, and shows it nowhere else. */
interface ServerSocket extends Socket {
  readonly _httpMessage?: ServerResponse<IncomingMessage> | null;
}

interface Queue {
  last: ServerResponse;
  length: number;
}

// Requests that wait cost memory, and node:http reads on for as long as none of them is answered. Nobody pipelines this
// deep in earnest; whoever does may ask again (RFC 9112 §9.3.2).
const mostWaiting = 1000;
const queues = new WeakMap<Socket, Queue>();

/** The response that `socket` is busy with, if any. */
export function beingSent(socket: Socket): ServerResponse<IncomingMessage> | undefined {
  return (socket as ServerSocket)._httpMessage ?? undefined;
}

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
  const { socket } = req;
  const queue = queues.get(socket);
  const before = queue?.last ?? beingSent(socket);
  const length = (queue?.length ?? 0) + 1;
  queues.set(socket, { last: res, length });
  if (length > mostWaiting) socket.destroy();
  before?.once('close', () => {
    leave(socket, res);
    run();
  });
}

/** Runs something that has no response of node's, such as an upgrade, when all before it is answered. */
export function afterOthers(socket: Socket, run: () => void): void {
  const before = queues.get(socket)?.last ?? beingSent(socket);
  if (before === undefined) run();
  else before.once('close', run);
}

function leave(socket: Socket, res: ServerResponse): void {
  const queue = queues.get(socket);
  if (!queue) return;
  queue.length -= 1;
  if (queue.last === res) queues.delete(socket);
}
