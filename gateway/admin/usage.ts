import type { RequestHandler, Response, Router } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/send.ts';
import { usageCsv } from '../retirement/usageCsv.ts';
import { type UsageReport, usageReport } from '../retirement/usageReport.ts';
import type { UsageQueries } from '../usage/queries.ts';
import type { Operations } from './operations.ts';
import { BadParameter, questionIn } from './question.ts';

/** `GET /api/usage` and `GET /api/usage.csv`: who calls what. */
export function addUsage(router: Router, live: { readonly current: Snapshot }, asked: Operations): void {
  const answer = (send: (res: Response, report: UsageReport) => void): RequestHandler => {
    return ({ query }, res) => {
      const queries = ledgerOf(asked, res);
      if (!queries) return;
      orProblem(res, () => {
        const question = questionIn(query, live.current, queries, asked.clock.now());
        send(res, usageReport(queries, question));
      });
    };
  };
  router.get(
    '/api/usage',
    answer((res, report) => res.json(report)),
  );
  router.get(
    '/api/usage.csv',
    answer((res, report) => {
      res.attachment(`usage-by-${report.by}.csv`).type('text/csv').send(usageCsv(report));
    }),
  );
}

/** What there is to be asked; answers by itself where there is nothing. */
export function ledgerOf({ usage }: Operations, res: Response): UsageQueries | undefined {
  if (!usage) sendProblem(res, 'NO_LEDGER', 'This gateway keeps no usage ledger, so nobody knows who calls what.');
  return usage;
}

/** Answers a parameter that is wrong with a problem that names it. */
export function orProblem(res: Response, answer: () => void): void {
  try {
    answer();
  } catch (error) {
    if (!(error instanceof BadParameter)) throw error;
    sendProblem(res, 'BAD_REQUEST', error.message);
  }
}
