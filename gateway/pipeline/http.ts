import type { IncomingMessage, ServerResponse } from 'node:http';
import { lingerAfter } from '../forwarding/lingering.ts';
import type { Problem } from '../problems/problem.ts';
import { waitForRoom } from './admissionQueue.ts';
import { answerEmpty, answerProblem, overloaded } from './answer.ts';
import { Exchange } from './exchange.ts';
import type { GatewayContext } from './live.ts';
import { runInOrder } from './pipeliningOrder.ts';
import { type StepOutcome, walk } from './steps.ts';
import { ForwardedExchange } from './underway.ts';

/** Takes a request through the steps and then to its target, once those before it on its connection are answered. */
export function handle(
  req: IncomingMessage,
  res: ServerResponse,
  context: GatewayContext,
  expectsContinue = false,
): void {
  // The parser may have read on behind a message that ended the connection: nobody is to act on that.
  if (!req.socket.writable) return;
  // A response has its socket from the start unless others are before it, which is nearly always. When its turn comes,
  // another snapshot may be at work.
  if (res.socket !== null) run(new Exchange(req, res, context, expectsContinue));
  else {
    runInOrder(req, res, (hadRoom) => {
      const exchange = new Exchange(req, res, context, expectsContinue);
      if (hadRoom) run(exchange);
      else refuse(exchange);
    });
  }
}

/** The rest of `handle`, for every transport. */
export function run(exchange: Exchange): void {
  track(exchange);
  const verdict = walk(exchange);
  if (verdict === undefined) forward(exchange);
  else answer(exchange, verdict);
}

/** All connections together have pipelined too much. Nothing behind this request has been parsed. */
function refuse(exchange: Exchange): void {
  track(exchange);
  lingerAfter(exchange.res);
  answerProblem(exchange, { ...overloaded, detail: 'Too many pipelined requests wait for their turn.' }, true);
}

function track(exchange: Exchange): void {
  const res: Tracked = exchange.res;
  res[tracked] = exchange;
  exchange.context.unrecorded += 1;
  // One listener for all responses, instead of a closure each.
  res.on('close', onClose);
}

function answer(exchange: Exchange, verdict: StepOutcome): void {
  const { req, res, context } = exchange;
  switch (verdict.kind) {
    case 'problem':
      answerProblem(exchange, verdict.problem, verdict.closes);
      break;
    case 'empty':
      answerEmpty(exchange, verdict.status, verdict.fields);
      break;
    case 'wait':
      if (!waitForRoom(exchange, (room) => proceed(exchange, room))) answerProblem(exchange, overloaded);
      break;
    case 'discovery':
      if (exchange.hasBody) {
        // Nobody reads it, and its sender need not finish.
        res.setHeader('Connection', 'close');
        lingerAfter(res);
      }
      if (exchange.closing) res.shouldKeepAlive = false;
      context.discovery?.(req, res);
      break;
  }
}

/** A request that has waited is looked at again, and does not wait twice. */
function proceed(exchange: Exchange, room: boolean): void {
  const verdict = room ? walk(exchange) : undefined;
  if (!room || verdict?.kind === 'wait') answerProblem(exchange, overloaded);
  else if (verdict === undefined) forward(exchange);
  else answer(exchange, verdict);
}

/** A property, because a WeakMap with an entry a request is work for the garbage collector. */
const tracked = Symbol('exchange');

interface Tracked extends ServerResponse {
  [tracked]?: Exchange;
}

function forward(exchange: Exchange): void {
  const one = new ForwardedExchange(exchange);
  exchange.enter(one);
  one.forwarding.start();
}

/** The response is out, or its client has left. */
function onClose(this: Tracked): void {
  const exchange = this[tracked];
  if (!exchange) return;
  exchange.inFlight?.forwarding?.abort();
  exchange.leave();
  exchange.context.unrecorded -= 1;
}

/** The request of `res` turns out to be broken while it is on its way: says so, or returns false if it is not ours. */
export function refuseUnderway(res: Tracked, problem: Problem): boolean {
  const exchange = res[tracked];
  if (!exchange?.inFlight?.forwarding) return false;
  exchange.inFlight.forwarding.abort();
  answerProblem(exchange, problem, true);
  return true;
}
