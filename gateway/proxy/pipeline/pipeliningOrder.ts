import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { IncomingRequest, OutgoingResponse } from '../forwarding/outbound.ts';
import { readAheadOf } from './readAhead.ts';

const latestResponse = Symbol('latestResponse');
const laneResponse = Symbol('laneResponse');

/** A response that is being sent, with its request. */
interface CurrentResponse extends OutgoingResponse {
  readonly req: IncomingRequest;
}

interface ServerSocket extends Socket {
  /** Undocumented: node:http keeps here the response that is being sent. */
  readonly _httpMessage?: ServerResponse<IncomingMessage> | null;
  /** The response of the fast lane that is being sent. */
  [laneResponse]?: CurrentResponse | undefined;
  /** The last response that had to wait for its turn, until it is sent completely. */
  [latestResponse]?: ServerResponse | undefined;
}

/** The response that is being sent on `socket`. */
export function currentResponse(socket: ServerSocket): CurrentResponse | undefined {
  return socket[laneResponse] ?? socket._httpMessage ?? undefined;
}

/** For responses that node:http does not know. Undefined: the response is complete. */
export function setCurrentResponse(socket: ServerSocket, response: CurrentResponse | undefined): void {
  socket[laneResponse] = response;
}

/**
 * Handles the pipelined requests of one connection one after the other. An earlier response must be outstanding. Calls `run`
 * once the earlier responses are sent; never, if the connection ends first. `hadMemory`: false if the waiting requests of all
 * connections used too much memory.
 *
 * node:http emits pipelined requests as it reads them, and only orders their responses. Without this function a DELETE
 * could run before the GET in front of it, and an error could be sent in place of an earlier response (RFC 9112 §9.3.2).
 */
export function runInOrder(req: IncomingMessage, res: ServerResponse, run: (hadMemory: boolean) => void): void {
  const socket: ServerSocket = req.socket;
  const earlierResponse = lastResponseOn(socket);
  socket[latestResponse] = res;
  const readAhead = readAheadOf(socket);
  const chargedBytes = readAhead.enter(req);
  res.once('close', () => {
    if (socket[latestResponse] === res) socket[latestResponse] = undefined;
  });
  const runOrWait = (): void => {
    if (!socket.writable) return;
    // `res` has no socket before its turn. In the server of an application, a response of the application may come first.
    const otherResponse = res.socket === null ? currentResponse(socket) : undefined;
    if (otherResponse) {
      otherResponse.once('close', runOrWait);
      return;
    }
    readAhead.leave(chargedBytes);
    run(readAhead.hadMemory(req));
  };
  earlierResponse?.once('close', runOrWait);
}

/** Calls `run` once all earlier requests on `socket` are answered. For upgrades, which have no response of node:http. */
export function afterEarlierResponses(socket: Socket, run: () => void): void {
  const earlierResponse = lastResponseOn(socket);
  if (earlierResponse) earlierResponse.once('close', () => afterEarlierResponses(socket, run));
  else run();
}

function lastResponseOn(socket: ServerSocket): OutgoingResponse | undefined {
  return socket[latestResponse] ?? currentResponse(socket);
}
