import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { endAndDrain } from '../forwarding/lingering.ts';
import { transportSecurity } from '../forwarding/responseFields.ts';
import { type Problem, problemBody, problemFields, statusOf } from '../problems/problem.ts';
import { httpDate } from '../shared/httpDate.ts';
import { refuseUnderway } from './http.ts';
import type { GatewayContext } from './live.ts';
import { type ParserError, problemFor } from './parserProblem.ts';
import { peerOf } from './peer.ts';
import { afterEarlierResponses, currentResponse } from './pipeliningOrder.ts';
import { recordUnread } from './record.ts';

// A socket is refused once. What the parser finds on it afterwards is the same broken message.
const refused = new WeakSet<Socket>();

/** The parser gave up: answers, closes, and lets an answer that is still under way go first. */
export function refuseConnection(error: ParserError, socket: Socket, context: GatewayContext): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const outstanding = currentResponse(socket);
  // What comes behind `Connection: close` is not a message, and no answer either.
  const problem = error.code === 'HPE_CLOSED_CONNECTION' ? undefined : problemFor(error);
  if (!outstanding || outstanding.req.complete) afterEarlierResponses(socket, () => finish(socket, problem, context));
  // The broken bytes belong to the body of the very request that is being answered.
  else if (outstanding.headersSent || !problem || !refuseUnderway(outstanding, problem)) socket.destroy();
}

function finish(socket: Socket, problem: Problem | undefined, context: GatewayContext): void {
  if (socket.writable && problem) {
    const { address, hsts } = peerOf(socket, context.live.snapshot);
    socket.write(rawAnswer(problem, hsts), 'latin1');
    recordUnread(problem.code, address, context);
  }
  endAndDrain.call(socket);
}

function rawAnswer(problem: Problem, hsts: boolean): string {
  const status = statusOf(problem);
  const body = problemBody(problem, undefined);
  const fields = problemFields(problem, Buffer.byteLength(body));
  fields.push('Date', httpDate(Date.now()), 'Connection', 'close');
  if (hsts) fields.push('Strict-Transport-Security', transportSecurity);
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let at = 0; at < fields.length; at += 2) head += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${head}\r\n${body}`;
}
