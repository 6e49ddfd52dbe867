import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { endAndDrain } from '../forwarding/lingering.ts';
import { type Problem, problemBody, problemFields, statusOf } from '../problems/problem.ts';
import { httpDate } from '../shared/httpDate.ts';

/** node:http keeps the response that is being sent here, and the error beside it tells where the parser stopped. */
interface ServerSocket extends Socket {
  readonly _httpMessage?: ServerResponse<IncomingMessage> | null;
}

interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

// A socket is refused once. What the parser finds on it afterwards is the same broken message.
const refused = new WeakSet<Socket>();

/** The parser gave up: answers, closes, and lets an answer that is still under way go first. */
export function refuseConnection(error: ParserError, socket: ServerSocket): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const outstanding = socket._httpMessage;
  // What comes behind `Connection: close` is not a message, and no answer either.
  const answer = error.code === 'HPE_CLOSED_CONNECTION' ? undefined : problemFor(error);
  if (!outstanding) finish(socket, answer);
  else if (isItsOwnBody(outstanding)) breakOff(outstanding, socket, answer);
  else outstanding.once('close', () => finish(socket, answer));
}

/** The broken bytes belong to the body of the very request that is being answered. */
function isItsOwnBody({ req }: ServerResponse<IncomingMessage>): boolean {
  return !req.complete;
}

/** A request that turns out to be broken gets no other answer than that, unless one has begun. */
function breakOff(response: ServerResponse<IncomingMessage>, socket: Socket, answer: Problem | undefined): void {
  if (response.headersSent) {
    socket.destroy();
    return;
  }
  // Whoever forwards this request hears that its client is gone.
  response.detachSocket(socket);
  response.destroy();
  response.emit('close');
  finish(socket, answer);
}

function finish(socket: Socket, problem: Problem | undefined): void {
  if (socket.writable && problem) socket.write(rawAnswer(problem), 'latin1');
  endAndDrain.call(socket);
}

function rawAnswer(problem: Problem): string {
  const status = statusOf(problem);
  const body = problemBody(problem, undefined);
  const fields = problemFields(problem, Buffer.byteLength(body));
  fields.push('Date', httpDate(Date.now()), 'Connection', 'close');
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let at = 0; at < fields.length; at += 2) head += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${head}\r\n${body}`;
}

function problemFor(error: ParserError): Problem {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'REQUEST_TIMED_OUT' };
    case 'HPE_HEADER_OVERFLOW':
      return { code: withinFirstLine(error) ? 'TARGET_TOO_LONG' : 'HEAD_TOO_LARGE' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { code: 'BODY_TOO_LARGE', detail: 'The chunk extensions are too long.' };
    case 'HPE_INVALID_VERSION':
      return { code: hasLine(error, /^\S+ \S+ HTTP\/[0-9]\.[0-9]\r$/) ? 'HTTP_VERSION_UNSUPPORTED' : 'BAD_REQUEST' };
    case 'HPE_INVALID_METHOD':
      // A method that nobody knows, rather than bytes that are no request line at all.
      return {
        code: hasLine(error, /^[\w!#$%&'*+\-.^`|~]+ \S+ HTTP\/1\.[01]\r$/) ? 'METHOD_NOT_IMPLEMENTED' : 'BAD_REQUEST',
      };
    default:
      return { code: 'BAD_REQUEST' };
  }
}

/** Whether the line that the parser stopped in, as far as its packet holds it, is of this form. */
function hasLine({ rawPacket, bytesParsed = 0 }: ParserError, form: RegExp): boolean {
  const text = rawPacket?.toString('latin1') ?? '';
  const line = text.slice(text.lastIndexOf('\n', Math.max(bytesParsed - 1, 0)) + 1).split('\n', 1)[0] ?? '';
  return form.test(line);
}

function withinFirstLine(error: ParserError): boolean {
  const before = error.rawPacket?.toString('latin1').slice(0, error.bytesParsed) ?? '';
  return !before.includes('\n');
}
