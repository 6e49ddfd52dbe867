import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Problem } from '../../problems/problem.ts';
import { http } from '../../shared/builtinHttp.ts';
import { Forwarding } from '../forwarding/http.ts';
import { lingerOnClose } from '../forwarding/lingering.ts';
import type { OutgoingResponse } from '../forwarding/outbound.ts';
import { PendingUpgrade } from '../forwarding/pendingUpgrade.ts';
import { answerEmpty, answerJson, answerProblem, overloaded } from './answer.ts';
import { Exchange, type GatewayContext, type StepOutcome } from './exchange.ts';
import { relayDiscovery } from './http2/relayDiscovery.ts';
import { afterEarlierResponses, runInOrder } from './pipeliningOrder.ts';
import { endExchange } from './record.ts';
import { runSteps } from './steps.ts';

/** Handles a request as soon as those before it on its connection are answered. */
export function handleRequest(
  req: IncomingMessage,
  res: ServerResponse,
  context: GatewayContext,
  expectsContinue = false,
): void {
  // The parser may have read another message after one that closed the connection.
  if (!req.socket.writable) return;
  // In rare cases the response has no socket, because it waits for an earlier response. The exchange is then created later,
  // because the configuration may be reloaded in the meantime.
  if (res.socket !== null) runExchange(new Exchange(req, res, context, expectsContinue));
  else {
    runInOrder(req, res, (hadMemory) => {
      const exchange = new Exchange(req, res, context, expectsContinue);
      if (hadMemory) runExchange(exchange);
      else refusePipelined(exchange);
    });
  }
}

/**
 * Whether node:http emits `upgrade` and hands over the socket. Two kinds of upgrades are handled as ordinary requests, which
 * RFC 9110 §7.8 allows: those to h2c, which is deprecated (RFC 9113 §3.1) and would let requests bypass all checks; and
 * those with a body, which would have to be separated from the stream that follows.
 */
export function shouldUpgrade(req: IncomingMessage): boolean {
  const { upgrade = '', 'content-length': length, 'transfer-encoding': coding } = req.headers;
  const bodiless = (length === undefined || Number(length) === 0) && coding === undefined;
  return (
    bodiless && req.httpVersionMinor === 1 && /^[\w!#$%&'*+.^`|~/,\t -]+$/.test(upgrade) && !/\bh2c\b/i.test(upgrade)
  );
}

/** Runs the steps for an upgrade or a CONNECT. `head`: the bytes after the request head that were read with it. */
export function handleUpgrade(req: IncomingMessage, socket: Socket, head: Buffer, context: GatewayContext): void {
  // node:http no longer listens to this socket, and an `error` without a listener ends the process.
  socket.on('error', () => socket.destroy());
  const pendingUpgrade = new PendingUpgrade(socket, head, req.headers.upgrade ?? '');
  afterEarlierResponses(socket, () => {
    if (!socket.writable) return;
    // Writes every answer except a 101, as for an ordinary request.
    const res = new http.ServerResponse(req);
    res.shouldKeepAlive = false;
    res.assignSocket(socket);
    res.on('finish', () => socket.destroySoon());
    pendingUpgrade.start();
    const expectsContinue = false;
    runExchange(new Exchange(req, res, context, expectsContinue, pendingUpgrade));
  });
}

/** Runs the steps, then forwards or answers. Called for ordinary requests and for upgrades. */
export function runExchange(exchange: Exchange): void {
  track(exchange);
  applySteps(exchange);
}

function applySteps(exchange: Exchange): void {
  applyOutcome(exchange, runSteps(exchange));
}

/** Refuses a request because pipelined requests use too much memory. The bytes after it have not been parsed. */
function refusePipelined(exchange: Exchange): void {
  track(exchange);
  lingerOnClose(exchange.res.socket);
  answerProblem(
    exchange,
    { ...overloaded, detail: 'Too many pipelined requests wait for their turn.' },
    { closesConnection: true },
  );
}

/** `outcome`: undefined if the request goes to its target. */
function applyOutcome(exchange: Exchange, outcome: StepOutcome | undefined): void {
  switch (outcome?.kind) {
    case undefined:
      forward(exchange);
      break;
    case 'problem':
      answerProblem(exchange, outcome.problem, { closesConnection: outcome.closesConnection });
      break;
    case 'empty':
      answerEmpty(exchange, outcome.status, outcome.fields);
      break;
    case 'wait':
      waitForRoom(exchange);
      break;
    case 'loadModules':
      void outcome.load().then(
        () => {
          if (!exchange.res.destroyed) applySteps(exchange);
        },
        () => answerProblem(exchange, { code: 'INTERNAL_ERROR' }),
      );
      break;
    case 'discovery':
      answerDiscovery(exchange);
      break;
    case 'ownUsage':
      void answerOwnUsage(exchange, outcome.base);
      break;
  }
}

async function answerOwnUsage(exchange: Exchange, base: string): Promise<void> {
  const { context, activeSnapshot, method, req, now, clientAddress: address } = exchange;
  const { identification } = activeSnapshot;
  const request = { method, rawHeaders: req.rawHeaders, address, identification, base, now };
  // Counted as a request of an unknown client: keys that were not accepted must not fill the ledger with clients.
  exchange.identified = identification.asUnknown;
  const answer = await context.selfService?.answer(request);
  const vary = ['Vary', identification.fields.join(', ') || '*'];
  if (typeof answer === 'string') answerJson(exchange, answer, vary);
  else if (answer) answerProblem(exchange, { ...answer, fields: [...(answer.fields ?? []), ...vary] });
}

function answerDiscovery({ req, res, context, hasBody, isGatewayStopping }: Exchange): void {
  if (!context.discovery) return;
  if (!(req instanceof http.IncomingMessage && res instanceof http.ServerResponse)) {
    relayDiscovery(req, res, context.discovery);
    return;
  }
  if (hasBody) {
    // Discovery does not read the body. The connection is closed instead of waiting for the end of the body.
    res.setHeader('Connection', 'close');
    lingerOnClose(res.socket);
  }
  if (isGatewayStopping) res.shouldKeepAlive = false;
  context.discovery(req, res);
}

/** Queues a request for `limits.queue` at most. The request runs the steps again whenever there may be room for it. */
function waitForRoom(exchange: Exchange): void {
  const { activeVersion, res } = exchange;
  const maxWaitMs = activeVersion?.version.limits.queue ?? 0;
  const { connectionLoad } = exchange;
  const waiter = {
    connection: connectionLoad,
    room: () => activeVersion?.roomFor(connectionLoad) ?? 'some',
    findRoom: () => {
      const outcome = runSteps(exchange);
      return outcome?.kind === 'wait' ? undefined : () => applyOutcome(exchange, outcome);
    },
    expire: () => answerProblem(exchange, overloaded),
  };
  const queued = maxWaitMs === 0 ? undefined : activeVersion?.requests.queue.add(maxWaitMs, waiter);
  if (queued) res.once('close', () => queued.leave());
  else answerProblem(exchange, overloaded);
}

function forward(exchange: Exchange): void {
  // A response with unknown members says nothing about how versions differ.
  if (!exchange.adaptation?.mayHaveUnknownMembers) exchange.observer = exchange.context.shadow?.observe(exchange);
  const forwarding = new Forwarding(exchange);
  exchange.forwarding = forwarding;
  exchange.activeVersion?.requests.addInFlight(exchange);
  exchange.adaptation?.reserveResponseMemory();
  forwarding.start();
}

/** A property on the response, because a WeakMap entry for each request would be more work for the garbage collector. */
const exchangeOnResponse = Symbol('exchange');

interface TrackedResponse extends OutgoingResponse {
  [exchangeOnResponse]?: Exchange | undefined;
}

function track(exchange: Exchange): void {
  const res: TrackedResponse = exchange.res;
  res[exchangeOnResponse] = exchange;
  exchange.context.unrecordedExchanges += 1;
  // One listener shared by all responses, instead of a closure for each.
  res.on('close', onClose);
}

/** The response is complete, or the client has left. Every exchange ends here. */
function onClose(this: TrackedResponse): void {
  const exchange = this[exchangeOnResponse];
  if (!exchange) return;
  this[exchangeOnResponse] = undefined;
  exchange.forwarding?.abort();
  exchange.observer?.onClose(exchange.res.writableFinished);
  endExchange(exchange);
  exchange.context.unrecordedExchanges -= 1;
}

/** Answers with `problem` because the body of a request in flight is malformed. False if the request is not in flight. */
export function refuseInFlight(res: TrackedResponse, problem: Problem): boolean {
  const exchange = res[exchangeOnResponse];
  if (!exchange?.forwarding) return false;
  exchange.forwarding.abort();
  answerProblem(exchange, problem, { closesConnection: true });
  return true;
}
