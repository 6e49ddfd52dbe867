import type { RequestHandler, Response, Router } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/problem.ts';
import type { Operations } from './operations.ts';
import { type Objection, type Page, UnansweredQuestion } from './reading/questions.ts';

/** `GET /api/usage` and `GET /api/usage.csv`: who calls what. */
export function addUsage(router: Router, live: { readonly current: Snapshot }, asked: Operations): void {
  const answer = (format: 'json' | 'csv'): RequestHandler => {
    return ({ query }, res) =>
      sendAnswer(res, asked.usage?.ask('usage', live.current, { query, format, now: asked.clock.now() }));
  };
  router.get('/api/usage', answer('json'));
  router.get('/api/usage.csv', answer('csv'));
}

/** Sends what the ledger answers, or why it does not; undefined: none is kept. */
export async function sendAnswer(res: Response, asked: Promise<Page | Objection> | undefined): Promise<void> {
  if (!asked) {
    sendProblem(res, 'NO_LEDGER', 'This gateway keeps no usage ledger, so nobody knows who calls what.');
    return;
  }
  try {
    const answer = await asked;
    if ('problem' in answer) sendProblem(res, answer.problem, answer.detail, answer.members);
    else sendPage(res, answer);
  } catch (error) {
    if (!(error instanceof UnansweredQuestion)) throw error;
    res.set('Retry-After', '30');
    sendProblem(res, 'LEDGER_UNANSWERED', error.message);
  }
}

// Not send() of Express: it would work out a tag over megabytes that nobody keeps.
function sendPage(res: Response, { body, csv }: Page): void {
  if (csv === undefined) res.type('json');
  else res.attachment(csv).type('text/csv');
  res.set('Content-Length', String(body.byteLength)).end(body);
}
