import type { Socket } from 'node:net';
import type { ProblemCode } from '../../problems/catalogue.ts';
import { type Problem, problemBody, problemFields, statusOf } from '../../problems/problem.ts';
import { http } from '../../shared/builtinHttp.ts';
import { currentHttpDate } from '../../shared/httpDate.ts';
import type { ExchangeRecord } from '../../usage/observability/exchangeRecord.ts';
import { requestIdFrom, traceIdOf, traceparentFrom } from '../forwarding/correlationIds.ts';
import { endAndDiscardRest } from '../forwarding/lingering.ts';
import { transportSecurity } from '../forwarding/responseFields.ts';
import type { GatewayContext } from './exchange.ts';
import { refuseInFlight } from './http.ts';
import { peerOf } from './peer.ts';
import { afterEarlierResponses, currentResponse } from './pipeliningOrder.ts';
import type { ParserError } from './readAhead.ts';

const isRefused = Symbol('isRefused');

interface RefusableSocket extends Socket {
  /** A socket is refused once. Later errors of its parser are about the same broken message. */
  [isRefused]?: boolean;
}

/** Answers a parser error and closes the connection, once the earlier responses on it are sent. */
export function refuseConnection(error: ParserError, socket: RefusableSocket, context: GatewayContext): void {
  if (socket[isRefused]) return;
  socket[isRefused] = true;
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const outstanding = currentResponse(socket);
  // Bytes after `Connection: close` are not a message and get no answer.
  const problem = error.code === 'HPE_CLOSED_CONNECTION' ? undefined : problemFor(error);
  if (!outstanding || outstanding.req.complete) {
    afterEarlierResponses(socket, () => answerAndClose(socket, problem, context));
    return;
  }
  // The broken bytes belong to the body of the request that is being answered.
  if (outstanding.headersSent || !problem || !refuseInFlight(outstanding, problem)) socket.destroy();
}

function answerAndClose(socket: Socket, problem: Problem | undefined, context: GatewayContext): void {
  if (socket.writable && problem) {
    const { address, hsts, scheme } = peerOf(socket, context.activeSnapshot.snapshot);
    socket.write(rawAnswer(problem, hsts), 'latin1');
    recordUnparsed(problem.code, address, scheme, context);
  }
  endAndDiscardRest.call(socket);
}

function rawAnswer(problem: Problem, hsts: boolean): string {
  const status = statusOf(problem);
  const body = problemBody(problem);
  const fields = problemFields(problem, Buffer.byteLength(body));
  fields.push('Date', currentHttpDate(), 'Connection', 'close');
  if (hsts) fields.push('Strict-Transport-Security', transportSecurity);
  let head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n`;
  for (let at = 0; at < fields.length; at += 2) head += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${head}\r\n${body}`;
}

/** Records bytes that could not be parsed as a request. Only the answer and the address are known. */
function recordUnparsed(
  problem: ProblemCode,
  address: string,
  scheme: ExchangeRecord['scheme'],
  { recorder, now }: GatewayContext,
): void {
  const at = now();
  // No field could be read: the request gets a new id and a new trace.
  recorder?.record({
    id: requestIdFrom(''),
    at,
    endedAt: at,
    version: '',
    stage: undefined,
    method: '',
    path: '',
    query: '',
    resource: '',
    paths: undefined,
    status: statusOf({ code: problem }),
    problem,
    target: undefined,
    served: false,
    duration: 0,
    upstreamMs: undefined,
    bytesIn: 0,
    bytesOut: 0,
    bodySize: 0,
    targetSize: 0,
    headSize: 0,
    retries: 0,
    fault: 'client',
    cause: undefined,
    traceId: traceIdOf(traceparentFrom(undefined)),
    scheme,
    address,
    rawHeaders: [],
  });
}

function problemFor(error: ParserError): Problem {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'REQUEST_TIMED_OUT' };
    case 'HPE_HEADER_OVERFLOW':
      return { code: isWithinFirstLine(error) ? 'TARGET_TOO_LONG' : 'HEAD_TOO_LARGE' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { code: 'BODY_TOO_LARGE', detail: 'The chunk extensions are too long.' };
    case 'HPE_INVALID_VERSION':
      return {
        code: lineMatches(error, /^\S+ \S+ HTTP\/[0-9]\.[0-9]\r$/) ? 'HTTP_VERSION_UNSUPPORTED' : 'BAD_REQUEST',
      };
    case 'HPE_INVALID_METHOD':
      // A well-formed line with an unknown method gets 501; anything else is no request line.
      return lineMatches(error, /^[\w!#$%&'*+\-.^`|~]+ \S+ HTTP\/1\.[01]\r$/)
        ? { code: 'METHOD_NOT_IMPLEMENTED' }
        : { code: 'BAD_REQUEST' };
    default:
      return { code: 'BAD_REQUEST' };
  }
}

/** Whether the line in which the parser stopped has this form. Only the part of the line in the last packet is checked. */
function lineMatches({ rawPacket, bytesParsed = 0 }: ParserError, form: RegExp): boolean {
  const text = rawPacket?.toString('latin1') ?? '';
  const line = text.slice(text.lastIndexOf('\n', Math.max(bytesParsed - 1, 0)) + 1).split('\n', 1)[0] ?? '';
  return form.test(line);
}

function isWithinFirstLine({ rawPacket, bytesParsed }: ParserError): boolean {
  const parsed = rawPacket?.toString('latin1').slice(0, bytesParsed) ?? '';
  return !parsed.includes('\n');
}
