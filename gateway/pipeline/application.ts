import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { mergeLifecycleFields } from '../forwarding/responseFields.ts';
import { parseRequestTarget } from '../routing/requestTarget.ts';
import type { OpenRequest } from '../usage/counting/collector.ts';
import type { CountedExchange } from '../usage/counting/countedExchange.ts';
import { answerEmpty, answerProblem } from './answer.ts';
import { Exchange, type OpenExchange } from './exchange.ts';
import { findVersion, namesVersion, refuseUnknown } from './findVersion.ts';
import { interceptHead, interceptSocketHead } from './interceptHead.ts';
import type { GatewayContext } from './live.ts';
import { afterEarlierResponses } from './pipeliningOrder.ts';
import { soFar, statusSoFar } from './record.ts';
import { refuseRetired } from './refuseRetired.ts';
import type { StepOutcome } from './steps.ts';

// Requests that an application answers itself, as it likes: here they only find their version and are refused if that is
// unknown or retired. Whatever the application answers then carries what the version says about its end.

/**
 * Takes a request through these steps, and calls `next` for the application to answer it. `target`: the request target
 * as the client sent it, which a framework may have shortened in `req.url`.
 */
export function interceptRequest(
  req: IncomingMessage,
  res: ServerResponse,
  target: string,
  context: GatewayContext,
  next: () => void,
): void {
  const exchange = exchangeFor(req, res, target, context);
  if (!exchange) {
    next();
    return;
  }
  res.once('close', () => exchange.leave());
  const verdict = verdictOn(exchange);
  if (verdict) {
    answer(exchange, verdict);
    return;
  }
  exchange.enter(new InApplication(exchange));
  interceptHead(res, (_status, fields) => onHead(exchange, fields));
  next();
}

/** The same of an upgrade: the application writes its answer to the socket. */
export function interceptUpgrade(
  req: IncomingMessage,
  socket: Socket,
  context: GatewayContext,
  next: () => void,
): void {
  const res = new ServerResponse(req);
  const exchange = exchangeFor(req, res, req.url ?? '', context);
  if (!exchange) {
    next();
    return;
  }
  const verdict = verdictOn(exchange);
  if (verdict) {
    socket.on('error', () => socket.destroy());
    res.once('close', () => exchange.leave());
    res.on('finish', () => socket.destroySoon());
    res.shouldKeepAlive = false;
    afterEarlierResponses(socket, () => {
      if (!socket.writable) return;
      res.assignSocket(socket);
      answer(exchange, verdict);
    });
    return;
  }
  socket.once('close', () => exchange.leave());
  exchange.enter(new InApplication(exchange));
  interceptSocketHead(socket, (status, fields) => {
    if (status === 101) exchange.switched();
    exchange.stats.status = status;
    onHead(exchange, fields);
  });
  next();
}

/**
 * An exchange that the application answers. It decides by itself when its responses end. A class, because V8 allocates the
 * objects of a busy literal among the old ones, where each would keep its exchange until the next full collection.
 */
class InApplication implements OpenExchange {
  readonly target = undefined;
  readonly forwarding = undefined;
  counted: OpenRequest | undefined = undefined;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  get version(): string {
    return this.#exchange.activeVersion?.version.name ?? '';
  }

  get status(): number {
    return statusSoFar(this.#exchange);
  }

  soFar(): CountedExchange {
    return soFar(this.#exchange);
  }

  goAway(): void {}

  cut(): void {}
}

/** Undefined for a path that names no version: it is the application's. */
function exchangeFor(
  req: IncomingMessage,
  res: ServerResponse,
  url: string,
  context: GatewayContext,
): Exchange | undefined {
  const read = parseRequestTarget(url);
  // What the gateway would refuse is the application's to judge; its version is the one that the path begins with.
  const { origin, pathEnd } = typeof read === 'string' ? { origin: url, pathEnd: endOfPath(url) } : read;
  if (!namesVersion(origin, context.live.snapshot.gateway.basePath)) return undefined;
  const exchange = new Exchange(req, res, context);
  exchange.origin = origin;
  exchange.pathEnd = pathEnd;
  return exchange;
}

function verdictOn(exchange: Exchange): StepOutcome | undefined {
  // What it says about paths is for a gateway that forwards them.
  findVersion(exchange);
  return refuseUnknown(exchange) ?? refuseRetired(exchange);
}

function answer(exchange: Exchange, verdict: StepOutcome): void {
  if (verdict.kind === 'problem') answerProblem(exchange, verdict.problem, verdict.closes);
  else if (verdict.kind === 'empty') answerEmpty(exchange, verdict.status, verdict.fields);
}

function onHead(exchange: Exchange, fields: string[]): void {
  const { stats, lifecycle } = exchange;
  stats.answeredAfter = performance.now() - stats.begun;
  stats.streamed = fields.some(
    (name, at) => at % 2 === 0 && /^content-type$/i.test(name) && /^text\/event-stream\b/i.test(fields[at + 1] ?? ''),
  );
  if (lifecycle) mergeLifecycleFields(fields, lifecycle);
}

function endOfPath(target: string): number {
  const at = target.indexOf('?');
  return at === -1 ? target.length : at;
}
