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
 * Handles the requests of one connection one after the other: `run` is called once the response, which is behind others,
 * has the connection to itself, and never when it ends before that. node:http hands pipelined requests over as it reads them and only sorts
 * their responses: a DELETE would overtake the GET before it, and a refusal would speak for a request that is under way
 * (RFC 9112 §9.3.2).
 */
export function inTurn(req: IncomingMessage, res: ServerResponse, run: () => void): void {
  const { socket } = req;
  const before = lastOn(socket);
  const length = (queues.get(socket)?.length ?? 0) + 1;
  queues.set(socket, { last: res, length });
  if (length > mostWaiting) socket.destroy();
  res.once('close', () => {
    if (queues.get(socket)?.last === res) queues.delete(socket);
  });
  const next = (): void => {
    if (!socket.writable) return;
    // In somebody else's server there may be answers between ours.
    const other = res.socket === null ? beingSent(socket) : undefined;
    if (other) {
      other.once('close', next);
      return;
    }
    const queue = queues.get(socket);
    if (queue) queue.length -= 1;
    run();
  };
  before?.once('close', next);
}

/** Calls `run` when all that came before on `socket` is answered: for what has no response of node's, such as an upgrade. */
export function afterOthers(socket: Socket, run: () => void): void {
  const before = lastOn(socket);
  if (before) before.once('close', () => afterOthers(socket, run));
  else run();
}

function lastOn(socket: Socket): ServerResponse | undefined {
  return queues.get(socket)?.last ?? beingSent(socket);
}
