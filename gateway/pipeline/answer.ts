import type { IncomingMessage, ServerResponse } from 'node:http';
import { lingerAfter } from '../forwarding/lingering.ts';
import type { ExchangeStats } from '../forwarding/outbound.ts';
import {
  addLifecycleFields,
  exposedNames,
  type LifecycleFields,
  transportSecurity,
} from '../forwarding/responseFields.ts';
import { type Problem, problemBody, problemFields, statusOf } from '../problems/problem.ts';

/** The properties of an exchange that the gateway needs to answer it. */
interface Answerable {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: string;
  readonly hasBody: boolean;
  readonly closing: boolean;
  readonly fields: { readonly origin: string | undefined };
  readonly peer: { readonly hsts: boolean };
  readonly lifecycle: LifecycleFields | undefined;
  readonly stats: ExchangeStats;
}

export const overloaded: Problem = { code: 'OVERLOADED', fields: ['Retry-After', '1'] };

/**
 * Answers with a problem. `closes`: close the connection afterwards, because it is unknown where the next request begins.
 * It also closes if the request body has not been read.
 */
export function answerProblem(exchange: Answerable, problem: Problem, closes = false): void {
  const body = problemBody(problem, exchange.id);
  const length = Buffer.byteLength(body);
  const fields = problemFields(problem, length);
  fields.push('X-Request-Id', exchange.id);
  if (!send(exchange, statusOf(problem), fields, body, closes)) return;
  exchange.stats.problem = problem.code;
  if (exchange.req.method !== 'HEAD') exchange.stats.bytesOut = length;
}

/** Answers without a body: for a preflight or `OPTIONS *`. */
export function answerEmpty(exchange: Answerable, status: number, fields: readonly string[]): void {
  send(exchange, status, [...fields], '', false);
}

/** False if a response has begun, or the client has disconnected. */
function send(exchange: Answerable, status: number, fields: string[], body: string, closes: boolean): boolean {
  const { req, res, hasBody, lifecycle } = exchange;
  if (res.headersSent || res.destroyed) return false;
  if (exchange.fields.origin !== undefined) {
    // An application around the gateway may have set its own CORS policy.
    if (res.hasHeader('access-control-allow-origin')) res.appendHeader('Access-Control-Expose-Headers', exposedNames);
    else fields.push('Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposedNames);
  }
  if (lifecycle) addLifecycleFields(fields, lifecycle);
  if (exchange.peer.hsts) fields.push('Strict-Transport-Security', transportSecurity);
  const unread = hasBody && !req.complete;
  if (closes || unread) fields.push('Connection', 'close');
  if (unread) lingerAfter(res);
  if (exchange.closing) res.shouldKeepAlive = false;
  res.writeHead(status, fields);
  res.end(body);
  if (unread) req.resume();
  return true;
}
