import type { IncomingMessage, ServerResponse } from 'node:http';
import { Forwarding } from '../forwarding/http.ts';
import { answerEmpty, answerProblem } from './answer.ts';
import { Exchange } from './exchange.ts';
import type { Surroundings } from './live.ts';
import { walk } from './steps.ts';

/**
 * Takes a request through the steps and then to its target. False when the gateway is a guest and the path
 * is none of its own.
 */
export function handle(
  req: IncomingMessage,
  res: ServerResponse,
  surroundings: Surroundings,
  expectsContinue = false,
): boolean {
  return run(new Exchange(req, res, surroundings, expectsContinue));
}

/** The rest of `handle`, for every transport. */
export function run(exchange: Exchange): boolean {
  const { req, res, surroundings } = exchange;
  const verdict = walk(exchange);
  switch (verdict?.kind) {
    case undefined:
      forward(exchange);
      return true;
    case 'problem':
      answerProblem(exchange, verdict.problem, verdict.closes);
      return true;
    case 'empty':
      answerEmpty(exchange, verdict.status, verdict.fields);
      return true;
    case 'discovery':
      surroundings.discovery(req, res);
      return true;
    case 'not-ours':
      return false;
  }
}

/** Which exchange a response belongs to: one listener for all of them, instead of a closure each. */
const underway = new WeakMap<ServerResponse, { exchange: Exchange; forwarding: Forwarding }>();

function forward(exchange: Exchange): void {
  const forwarding = new Forwarding(exchange);
  exchange.enter();
  underway.set(exchange.res, { exchange, forwarding });
  exchange.res.on('close', onClose);
  forwarding.start();
}

/** The response is out, or its client has left. */
function onClose(this: ServerResponse): void {
  const one = underway.get(this);
  if (!one) return;
  one.exchange.leave();
  one.forwarding.abort();
}
