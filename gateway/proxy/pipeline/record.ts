import { performance } from 'node:perf_hooks';
import type { ExchangeRecord, SpanRecord } from '../../usage/observability/exchangeRecord.ts';
import { type ServerSpan, traceIdOf } from '../forwarding/correlationIds.ts';
import type { Exchange } from './exchange.ts';

/** Ends an exchange: it is no longer in flight, and is recorded. Safe to call twice. */
export function endExchange(exchange: Exchange): void {
  const { context, stats, activeVersion } = exchange;
  const now = context.now();
  exchange.adaptation?.release();
  activeVersion?.requests.removeInFlight(exchange, now);
  if (context.recorder === undefined || stats.recorded) return;
  stats.recorded = true;
  context.recorder.record(recordOf(exchange, now));
}

// Recorded if the client disconnected before the response began. Not an HTTP status, but known from nginx.
const clientClosedRequest = 499;

function recordOf(exchange: Exchange, endedAt: number): ExchangeRecord {
  const { req, res, activeVersion, stats, originForm, pathEnd } = exchange;
  const { failure } = stats;
  // A request target that was refused is recorded as received.
  const requestTarget = pathEnd > 0 ? originForm : (req.url ?? '');
  const queryAt = pathEnd > 0 ? pathEnd : endOfPath(requestTarget);
  // A stream of events counts as finished: a client ends it by disconnecting.
  const unfinished =
    !stats.switchedProtocols && stats.applicationStatus === undefined && !stats.streamed && !res.writableFinished;
  return {
    id: exchange.id,
    // When the exchange began.
    at: exchange.now,
    endedAt,
    version: exchange.versionName,
    stage: activeVersion?.stage(exchange.now),
    method: exchange.method,
    path: requestTarget.slice(0, queryAt),
    query: requestTarget.slice(queryAt + 1),
    resource: exchange.resource,
    paths: activeVersion?.version.contract?.paths,
    status: exchange.status || clientClosedRequest,
    problem: stats.problem,
    adaptedRoute: exchange.adaptation?.adaptedRoute,
    target: exchange.chosenTarget?.url,
    served: stats.answeredAfter !== undefined,
    duration: performance.now() - stats.beganAt,
    streamed: stats.streamed,
    upstreamMs: stats.answeredAfter,
    bytesIn: stats.bytesIn,
    bytesOut: bytesOut(exchange),
    bodySize: exchange.bodySize,
    targetSize: exchange.targetSize,
    headSize: exchange.headSize,
    retries: stats.retries,
    fault: failure?.fault ?? (unfinished ? 'client' : undefined),
    cause: failure?.cause ?? (unfinished ? 'the client left' : undefined),
    traceId: traceIdOf(exchange.traceparent),
    span: exchange.span && spanOf(exchange, exchange.span),
    scheme: exchange.peer.scheme,
    http2: req.httpVersion === '2',
    address: exchange.clientAddress,
    identified: exchange.identified,
    restrictedBy: exchange.restrictedBy,
    brownout: exchange.brownout,
    rawHeaders: req.rawHeaders,
    counted: exchange.counted,
  };
}

function spanOf({ req, host, path, now, activeVersion, stats, tracestate }: Exchange, span: ServerSpan): SpanRecord {
  return {
    id: span.id,
    parentId: span.parentId,
    tracestate,
    httpVersion: req.httpVersion,
    host,
    successor: activeVersion?.successor(now)?.name,
    targetPath: path,
    attempts: stats.attempts ?? [],
  };
}

/** The size of the body that was sent. Express writes discovery pages, so their size is only in Content-Length. */
function bytesOut({ res, stats, method, chosenTarget }: Exchange): number {
  if (chosenTarget !== undefined || stats.problem || stats.bytesOut > 0 || method === 'HEAD') return stats.bytesOut;
  return Number(res.getHeader('content-length') ?? 0);
}

/** The length of the path in a request target that may have a query. */
export function endOfPath(target: string): number {
  const at = target.indexOf('?');
  return at === -1 ? target.length : at;
}
