import { type Problem, problemBody, problemFields, statusOf } from '../../problems/problem.ts';
import { lingerOnClose } from '../forwarding/lingering.ts';
import type { ExchangeStats, IncomingRequest, OutgoingResponse } from '../forwarding/outbound.ts';
import {
  addCacheVariation,
  addLifecycleFields,
  exposedNames,
  greasedVariation,
  type LifecycleFields,
  transportSecurity,
} from '../forwarding/responseFields.ts';

/** The properties of an exchange that the gateway needs to answer it. */
interface Answerable {
  readonly req: IncomingRequest;
  readonly res: OutgoingResponse;
  readonly id: string;
  readonly hasBody: boolean;
  readonly isGatewayStopping: boolean;
  readonly fields: { readonly origin: string | undefined };
  readonly peer: { readonly hsts: boolean };
  readonly lifecycle: LifecycleFields | undefined;
  readonly stats: ExchangeStats;
  readonly activeVersion: { readonly version: { readonly grease: unknown } } | undefined;
}

export const overloaded: Problem = { code: 'OVERLOADED', fields: ['Retry-After', '1'] };

/**
 * Answers with a problem. `closesConnection`: set for an invalid message, after which the next request may begin anywhere.
 * The connection is also closed if the request body has not been read.
 */
export function answerProblem(
  exchange: Answerable,
  problem: Problem,
  { closesConnection = false }: { readonly closesConnection?: boolean | undefined } = {},
): void {
  const body = problemBody(problem, exchange.id);
  const length = Buffer.byteLength(body);
  const fields = problemFields(problem, length);
  fields.push('X-Request-Id', exchange.id);
  if (!canAnswer(exchange)) return;
  // Set first, because the exchange may be recorded while the response is sent.
  exchange.stats.problem = problem.code;
  if (exchange.req.method !== 'HEAD') exchange.stats.bytesOut = length;
  send(exchange, statusOf(problem), fields, body, closesConnection);
}

/** Answers 200 with JSON that is for this client only. */
export function answerJson(exchange: Answerable, body: string, fields: readonly string[]): void {
  if (!canAnswer(exchange)) return;
  const length = Buffer.byteLength(body);
  const jsonFields = [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(length),
    'Cache-Control',
    'no-store',
  ];
  if (exchange.req.method !== 'HEAD') exchange.stats.bytesOut = length;
  send(exchange, 200, [...jsonFields, 'X-Content-Type-Options', 'nosniff', ...fields], body, false);
}

/** Answers without a body: for a preflight or `OPTIONS *`. */
export function answerEmpty(exchange: Answerable, status: number, fields: readonly string[]): void {
  if (canAnswer(exchange)) send(exchange, status, [...fields], '', false);
}

/** False if a response has begun, or the client has disconnected. */
function canAnswer({ res }: Answerable): boolean {
  return !res.headersSent && !res.destroyed;
}

function send(exchange: Answerable, status: number, fields: string[], body: string, closesConnection: boolean): void {
  const { req, res, hasBody, lifecycle } = exchange;
  if (exchange.fields.origin !== undefined) {
    // An application around the gateway may have set its own CORS policy.
    if (res.getHeader('access-control-allow-origin') !== undefined)
      res.appendHeader('Access-Control-Expose-Headers', exposedNames);
    else fields.push('Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposedNames);
  }
  if (lifecycle) addLifecycleFields(fields, lifecycle);
  // With `grease`, the responses of a version depend on `Prefer`, so `Vary` lists it.
  if (exchange.activeVersion?.version.grease !== undefined) addCacheVariation(fields, greasedVariation());
  if (exchange.peer.hsts) fields.push('Strict-Transport-Security', transportSecurity);
  const unread = hasBody && !req.complete;
  if (closesConnection || unread) fields.push('Connection', 'close');
  if (unread) lingerOnClose(res.socket);
  if (exchange.isGatewayStopping) res.shouldKeepAlive = false;
  res.writeHead(status, fields);
  res.end(body);
  if (unread) req.resume();
}
