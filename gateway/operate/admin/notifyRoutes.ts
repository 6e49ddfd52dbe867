import express, { type Router } from 'express';
import { sendProblem } from '../../problems/problem.ts';
import { CallsQuestion } from '../../versions/retirement/liveFacts.ts';
import { digestJson } from '../notify/events.ts';
import type { Notifier } from '../notify/notifier.ts';
import { requireJson } from './guard.ts';
import type { AdminContext } from './operations.ts';
import { sendAnswer } from './operatorRoutes.ts';
import { parseDigestQuery } from './usageQueryParams.ts';

/** `GET /api/digest`: the state of the deprecated versions. `POST /api/notify/test`: sends a test event to every receiver. */
export function notifyRoutes(
  { source, operations }: AdminContext,
  notifier: () => Pick<Notifier, 'test'> | undefined,
): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/api/digest', ({ query }, res) =>
    sendAnswer(res, async () => {
      const { clock, live } = operations;
      const { ledger } = live;
      const period = parseDigestQuery(query, clock.now());
      const { retire, versions } = source.current;
      const question = new CallsQuestion(live);
      await question.wait([...versions.keys()]);
      const state = await question.answer(versions.keys(), retire.quiet);
      const gateway = operations.identity?.();
      const digest = await ledger?.query('digest', source.current, { ...period, state, gateway });
      if (ledger && !digest)
        return { problem: 'LEDGER_UNANSWERED', detail: ledger.problem ?? 'The ledger cannot be read.' };
      return digest && { body: new TextEncoder().encode(JSON.stringify(digestJson(digest))) };
    }),
  );
  router.post('/api/notify/test', requireJson, async (_req, res) => {
    const { notify } = source.current;
    if (notify.length === 0) sendProblem(res, 'NO_RECEIVER', 'Set notify in routes.yaml to send notifications.');
    else res.json({ results: (await notifier()?.test()) ?? [] });
  });
  return router;
}
