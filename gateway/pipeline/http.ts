import type { IncomingMessage, ServerResponse } from 'node:http';
import { Forwarding } from '../forwarding/http.ts';
import { lingerAfter } from '../forwarding/lingering.ts';
import type { Problem } from '../problems/problem.ts';
import { answerEmpty, answerProblem, overloaded } from './answer.ts';
import type { GatewayContext } from './context.ts';
import { Exchange, type StepOutcome } from './exchange.ts';
import { runInOrder } from './pipeliningOrder.ts';
import { endExchange } from './record.ts';
import { runSteps } from './steps.ts';

/** Handles a request as soon as those before it on its connection are answered. */
export function handleRequest(
  req: IncomingMessage,
  res: ServerResponse,
  context: GatewayContext,
  expectsContinue = false,
): void {
  // The parser may have read on behind a message that ended the connection.
  if (!req.socket.writable) return;
  // A response has its socket from the start unless others are before it, which is rare. The exchange is made only when it
  // starts, because a reload may come first.
  if (res.socket !== null) runExchange(new Exchange(req, res, context, expectsContinue));
  else {
    runInOrder(req, res, (hadRoom) => {
      const exchange = new Exchange(req, res, context, expectsContinue);
      if (hadRoom) runExchange(exchange);
      else refusePipelined(exchange);
    });
  }
}

/** Runs the steps, then forwards or answers. Plain requests and upgrades both come here. */
export function runExchange(exchange: Exchange): void {
  track(exchange);
  const outcome = runSteps(exchange);
  if (outcome === undefined) forward(exchange);
  else applyOutcome(exchange, outcome);
}

/** All connections together have pipelined too much. Nothing behind this request has been parsed. */
function refusePipelined(exchange: Exchange): void {
  track(exchange);
  lingerAfter(exchange.res);
  answerProblem(exchange, { ...overloaded, detail: 'Too many pipelined requests wait for their turn.' }, true);
}

function applyOutcome(exchange: Exchange, outcome: StepOutcome): void {
  const { req, res, context } = exchange;
  switch (outcome.kind) {
    case 'problem':
      answerProblem(exchange, outcome.problem, outcome.closes);
      break;
    case 'empty':
      answerEmpty(exchange, outcome.status, outcome.fields);
      break;
    case 'wait':
      waitForRoom(exchange);
      break;
    case 'discovery':
      if (exchange.hasBody) {
        // Discovery reads no body. The client need not send it to its end.
        res.setHeader('Connection', 'close');
        lingerAfter(res);
      }
      if (exchange.closing) res.shouldKeepAlive = false;
      context.discovery?.(req, res);
      break;
  }
}

/** Queues a request for `limits.queue` at most. It runs the steps again when there is room, and does not wait twice. */
function waitForRoom(exchange: Exchange): void {
  const { activeVersion, res } = exchange;
  const wait = activeVersion?.version.limits.queue ?? 0;
  const queued = wait === 0 ? undefined : activeVersion?.use.queue.add(wait, (admitted) => resume(exchange, admitted));
  if (queued) res.once('close', () => queued.leave());
  else answerProblem(exchange, overloaded);
}

function resume(exchange: Exchange, admitted: boolean): void {
  const outcome = admitted ? runSteps(exchange) : undefined;
  if (!admitted || outcome?.kind === 'wait') answerProblem(exchange, overloaded);
  else if (outcome === undefined) forward(exchange);
  else applyOutcome(exchange, outcome);
}

function forward(exchange: Exchange): void {
  const forwarding = new Forwarding(exchange);
  exchange.forwarding = forwarding;
  exchange.activeVersion?.use.enter(exchange);
  forwarding.start();
}

/** A property, because one WeakMap entry for each request is work for the garbage collector. */
const tracked = Symbol('exchange');

interface TrackedResponse extends ServerResponse {
  [tracked]?: Exchange | undefined;
}

function track(exchange: Exchange): void {
  const res: TrackedResponse = exchange.res;
  res[tracked] = exchange;
  exchange.context.unrecorded += 1;
  // One listener shared by all responses, instead of a closure for each.
  res.on('close', onClose);
}

/** The response is complete, or the client has left. Every exchange ends here. */
function onClose(this: TrackedResponse): void {
  const exchange = this[tracked];
  if (!exchange) return;
  this[tracked] = undefined;
  exchange.forwarding?.abort();
  endExchange(exchange);
  exchange.context.unrecorded -= 1;
}

/** Answers with `problem` because the body of a request in flight is broken. False if the request is not in flight. */
export function refuseInFlight(res: TrackedResponse, problem: Problem): boolean {
  const exchange = res[tracked];
  if (!exchange?.forwarding) return false;
  exchange.forwarding.abort();
  answerProblem(exchange, problem, true);
  return true;
}
