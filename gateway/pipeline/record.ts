import { requestIdFrom, traceIdOf, traceparentFrom } from '../forwarding/requestIds.ts';
import type { ExchangeRecord } from '../observability/exchangeRecord.ts';
import type { ProblemCode } from '../problems/catalogue.ts';
import { statusOf as statusOfProblem } from '../problems/problem.ts';
import type { CountedExchange } from '../usage/counting/countedExchange.ts';
import type { Exchange } from './exchange.ts';
import type { GatewayContext } from './live.ts';
import { clientAddressOf } from './peer.ts';

/** The one place that says what became of an exchange. Safe to call twice: it is said once. */
export function record(exchange: Exchange): void {
  const { context, stats } = exchange;
  if (context.recorder === undefined || stats.recorded) return;
  stats.recorded = true;
  context.recorder.record(factsOf(exchange));
}

/** The same of bytes that no request could be read from: little more is known of them than what they were answered. */
export function recordUnread(problem: ProblemCode, address: string, { recorder, now }: GatewayContext): void {
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
  const { req, activeVersion, stats } = exchange;
  return {
    version: activeVersion?.version.name ?? '',
    method: exchange.method,
    resource: exchange.resource,
    paths: activeVersion?.version.contract?.paths,
    rawHeaders: req.rawHeaders,
    address: addressOf(exchange),
    status: statusSoFar(exchange),
    served: stats.answeredAfter !== undefined,
    at: exchange.now,
  };
}

// What a client that has left is written down as: no status of HTTP, and widely understood.
const clientLeft = 499;

function factsOf(exchange: Exchange): ExchangeRecord {
  const { req, res, activeVersion, stats, origin, pathEnd } = exchange;
  const { failure } = stats;
  // A target that is refused is shown as it came.
  const target = pathEnd > 0 ? origin : (req.url ?? '');
  const end = pathEnd > 0 ? pathEnd : endOfPath(target);
  // A stream of events has no end that its reader could wait for: to leave is the way to end it.
  const unfinished = !stats.switched && stats.status === undefined && !stats.streamed && !res.writableFinished;
  return {
    id: exchange.id,
    at: exchange.now,
    endedAt: exchange.context.now(),
    version: activeVersion?.version.name ?? '',
    stage: activeVersion?.stage(exchange.now),
    method: exchange.method,
    path: target.slice(0, end),
    query: target.slice(end + 1),
    resource: exchange.resource,
    paths: activeVersion?.version.contract?.paths,
    status: statusOf(exchange),
    problem: stats.problem,
    target: exchange.targetUrl,
    served: stats.answeredAfter !== undefined,
    duration: performance.now() - stats.begun,
    streamed: stats.streamed,
    upstream: stats.answeredAfter,
    bytesIn: stats.bytesIn,
    bytesOut: bytesOut(exchange),
    retries: stats.retries,
    fault: failure?.fault ?? (unfinished ? 'client' : undefined),
    cause: failure?.cause ?? (unfinished ? 'the client left' : undefined),
    traceId: traceIdOf(exchange.traceparent),
    address: addressOf(exchange),
    rawHeaders: req.rawHeaders,
    counted: exchange.inFlight?.counted,
  };
}

function addressOf({ peer, fields }: Exchange): string {
  return clientAddressOf(peer, fields.forwarded?.get('x-forwarded-for'));
}

function statusOf(exchange: Exchange): number {
  return statusSoFar(exchange) || clientLeft;
}

/** 0 while there is no response. */
export function statusSoFar({ res, stats }: Exchange): number {
  if (stats.switched) return 101;
  if (stats.status !== undefined) return stats.status;
  return res.headersSent ? res.statusCode : 0;
}

/** Pages are written by Express, which says their length. */
function bytesOut({ res, stats, method, targetUrl }: Exchange): number {
  if (targetUrl !== undefined || stats.problem || method === 'HEAD') return stats.bytesOut;
  return Number(res.getHeader('content-length') ?? 0);
}

function endOfPath(target: string): number {
  const at = target.indexOf('?');
  return at === -1 ? target.length : at;
}
