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
  // Pipelined behind a message that was refused: the parser had read it by then.
  if (exchange.peer.ending) return true;
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

/** A property, because a WeakMap with an entry a request is work for the garbage collector. */
const underway = Symbol('underway');

interface Tracked extends ServerResponse {
  [underway]?: { readonly exchange: Exchange; readonly forwarding: Forwarding };
}

function forward(exchange: Exchange): void {
  const forwarding = new Forwarding(exchange);
  const res: Tracked = exchange.res;
  res[underway] = { exchange, forwarding };
  // One listener for all responses, instead of a closure each.
  res.on('close', onClose);
  exchange.enter();
  forwarding.start();
}

/** The response is out, or its client has left. */
function onClose(this: Tracked): void {
  const one = this[underway];
  one?.exchange.leave();
  one?.forwarding.abort();
}
