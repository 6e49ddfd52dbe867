import { traceIdOf, traceparentFrom } from '../forwarding/trace.ts';
import type { Facts } from '../observability/facts.ts';
import type { ProblemCode } from '../problems/catalogue.ts';
import { statusOf as statusOfProblem } from '../problems/problem.ts';
import type { CountedExchange } from '../usage/counted.ts';
import type { Exchange } from './exchange.ts';
import type { Surroundings } from './live.ts';
import { clientAddressOf } from './peer.ts';
import { requestIdFrom } from './requestId.ts';

/** The one place that says what became of an exchange. Safe to call twice: it is said once. */
export function record(exchange: Exchange): void {
  const { surroundings, tally } = exchange;
  if (surroundings.recorder === undefined || tally.recorded) return;
  tally.recorded = true;
  surroundings.recorder.record(factsOf(exchange));
}

/** The same of bytes that no request could be read from: little more is known of them than what they were answered. */
export function recordUnread(problem: ProblemCode, address: string, { recorder, now }: Surroundings): void {
  const at = now();
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
    status: statusOfProblem({ code: problem }),
    problem,
    target: undefined,
    served: false,
    duration: 0,
    upstream: undefined,
    bytesIn: 0,
    bytesOut: 0,
    retries: 0,
    fault: 'client',
    cause: undefined,
    traceId: traceIdOf(traceparentFrom(undefined)),
    address,
    rawHeaders: [],
  });
}

/** What can be counted of an exchange that has not ended. */
export function soFar(exchange: Exchange): CountedExchange {
  const { req, served, tally } = exchange;
  return {
    version: served?.version.name ?? '',
    method: exchange.method,
    resource: exchange.resource,
    paths: served?.version.contract?.paths,
    rawHeaders: req.rawHeaders,
    address: addressOf(exchange),
    status: statusSoFar(exchange),
    served: tally.answeredAfter !== undefined,
    at: exchange.now,
  };
}

// What a client that has left is written down as: no status of HTTP, and widely understood.
const clientLeft = 499;

function factsOf(exchange: Exchange): Facts {
  const { req, res, served, tally, origin, pathEnd } = exchange;
  const { failure } = tally;
  // A target that is refused is shown as it came.
  const target = pathEnd > 0 ? origin : (req.url ?? '');
  const end = pathEnd > 0 ? pathEnd : endOfPath(target);
  // A stream of events has no end that its reader could wait for: to leave is the way to end it.
  const unfinished = !tally.switched && tally.status === undefined && !tally.streamed && !res.writableFinished;
  return {
    id: exchange.id,
    at: exchange.now,
    endedAt: exchange.surroundings.now(),
    version: served?.version.name ?? '',
    stage: served?.stage(exchange.now),
    method: exchange.method,
    path: target.slice(0, end),
    query: target.slice(end + 1),
    resource: exchange.resource,
    paths: served?.version.contract?.paths,
    status: statusOf(exchange),
    problem: tally.problem,
    target: exchange.targetUrl,
    served: tally.answeredAfter !== undefined,
    duration: performance.now() - tally.begun,
    streamed: tally.streamed,
    upstream: tally.answeredAfter,
    bytesIn: tally.bytesIn,
    bytesOut: bytesOut(exchange),
    retries: tally.retries,
    fault: failure?.fault ?? (unfinished ? 'client' : undefined),
    cause: failure?.cause ?? (unfinished ? 'the client left' : undefined),
    traceId: traceIdOf(exchange.traceparent),
    address: addressOf(exchange),
    rawHeaders: req.rawHeaders,
    counted: exchange.underway?.counted,
  };
}

function addressOf({ peer, fields }: Exchange): string {
  return clientAddressOf(peer, fields.forwarded?.get('x-forwarded-for'));
}

function statusOf(exchange: Exchange): number {
  return statusSoFar(exchange) || clientLeft;
}

/** 0 while there is no response. */
export function statusSoFar({ res, tally }: Exchange): number {
  if (tally.switched) return 101;
  if (tally.status !== undefined) return tally.status;
  return res.headersSent ? res.statusCode : 0;
}

/** Pages are written by Express, which says their length. */
function bytesOut({ res, tally, method, targetUrl }: Exchange): number {
  if (targetUrl !== undefined || tally.problem || method === 'HEAD') return tally.bytesOut;
  return Number(res.getHeader('content-length') ?? 0);
}

function endOfPath(target: string): number {
  const at = target.indexOf('?');
  return at === -1 ? target.length : at;
}
