import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { parseRequestTarget } from '../../routing/requestTarget.ts';
import { http } from '../../shared/builtinHttp.ts';
import { addCacheVariation, mergeLifecycleFields } from '../forwarding/responseFields.ts';
import { answerEmpty, answerProblem } from './answer.ts';
import { Exchange, type GatewayContext, type StepOutcome } from './exchange.ts';
import { findVersion, namesVersion, refuseUnknownVersion } from './findVersion.ts';
import { interceptResponseHead, interceptSocketHead } from './interceptHead.ts';
import { afterEarlierResponses } from './pipeliningOrder.ts';
import { endExchange, endOfPath } from './record.ts';
import { refuseRetired, restrictClients } from './restrictClients.ts';

// For requests that an application answers itself. The gateway finds the version, refuses the request if the version is unknown
// or retired, and adds the version's lifecycle headers to the application's response.

/**
 * Checks the version of a request, then calls `next` so that the application answers it. `target`: the request target as
 * the client sent it; a framework may have shortened `req.url`.
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
  res.once('close', () => endExchange(exchange));
  const refusal = refuseVersion(exchange);
  if (refusal) {
    answerRefusal(exchange, refusal);
    return;
  }
  exchange.activeVersion?.requests.addInFlight(exchange);
  interceptResponseHead(res, (_status, fields) => onHead(exchange, fields));
  next();
}

/** Like `interceptRequest` for an upgrade: the application writes its response to the socket. */
export function interceptUpgrade(
  req: IncomingMessage,
  socket: Socket,
  context: GatewayContext,
  next: () => void,
): void {
  const res = new http.ServerResponse(req);
  const exchange = exchangeFor(req, res, req.url ?? '', context);
  if (!exchange) {
    next();
    return;
  }
  const refusal = refuseVersion(exchange);
  if (refusal) {
    socket.on('error', () => socket.destroy());
    res.once('close', () => endExchange(exchange));
    res.on('finish', () => socket.destroySoon());
    res.shouldKeepAlive = false;
    afterEarlierResponses(socket, () => {
      if (!socket.writable) return;
      res.assignSocket(socket);
      answerRefusal(exchange, refusal);
    });
    return;
  }
  socket.once('close', () => endExchange(exchange));
  exchange.activeVersion?.requests.addInFlight(exchange);
  interceptSocketHead(socket, (status, fields) => {
    if (status === 101) exchange.onSwitched();
    exchange.stats.applicationStatus = status;
    onHead(exchange, fields);
  });
  next();
}

/** Undefined for a path that does not name a version: the application answers it. */
function exchangeFor(
  req: IncomingMessage,
  res: ServerResponse,
  url: string,
  context: GatewayContext,
): Exchange | undefined {
  const parsed = parseRequestTarget(url);
  // An invalid request target is not refused here, but by the application. Its first segment is used unchanged.
  const { originForm, pathEnd } = typeof parsed === 'string' ? { originForm: url, pathEnd: endOfPath(url) } : parsed;
  if (!namesVersion(originForm, context.activeSnapshot)) return undefined;
  const exchange = new Exchange(req, res, context);
  exchange.originForm = originForm;
  exchange.pathEnd = pathEnd;
  return exchange;
}

function refuseVersion(exchange: Exchange): StepOutcome | undefined {
  // `findVersion` sets the version of the exchange. It also refuses `//` after the version, which matters only if the path is forwarded.
  findVersion(exchange);
  return refuseUnknownVersion(exchange) ?? restrictClients(exchange) ?? refuseRetired(exchange);
}

function answerRefusal(exchange: Exchange, refusal: StepOutcome): void {
  if (refusal.kind === 'problem')
    answerProblem(exchange, refusal.problem, { closesConnection: refusal.closesConnection });
  else if (refusal.kind === 'empty') answerEmpty(exchange, refusal.status, refusal.fields);
}

function onHead(exchange: Exchange, fields: string[]): void {
  const { stats, lifecycle, activeVersion } = exchange;
  stats.answeredAfter = performance.now() - stats.beganAt;
  stats.streamed = fields.some(
    (name, at) => at % 2 === 0 && /^content-type$/i.test(name) && /^text\/event-stream\b/i.test(fields[at + 1] ?? ''),
  );
  if (lifecycle) mergeLifecycleFields(fields, lifecycle);
  // Another client may get another response.
  if (activeVersion?.restrictions) addCacheVariation(fields, activeVersion.restrictions);
}
