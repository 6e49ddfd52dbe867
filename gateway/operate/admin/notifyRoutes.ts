import { longestQuiet, receiversOf } from '../../config/api.ts';
import { CallsQuestion } from '../../versions/retirement/liveFacts.ts';
import { digestJson } from '../notify/events.ts';
import type { Notifier } from '../notify/notifier.ts';
import { type ApiHandlers, noLedger } from './apiRouter.ts';
import type { AdminContext } from './operations.ts';
import { parseDigestQuery } from './usageQueryParams.ts';

export function notifyRoutes(
  { source, operations: { clock, live, identity } }: AdminContext,
  notifier: () => Pick<Notifier, 'test'> | undefined,
): Partial<ApiHandlers> {
  return {
    'GET /api/digest': async ({ query }) => {
      const { ledger } = live;
      const period = parseDigestQuery(query, clock.now());
      if (ledger === undefined) return noLedger;
      const { versions } = source.current;
      const question = new CallsQuestion(live);
      await question.wait([...versions.keys()]);
      const state = await question.answer(
        versions.keys(),
        Math.max(longestQuiet(source.current, 'retire'), 2 * (period.now - period.since)),
      );
      const digest = await ledger.query('digest', source.current, { ...period, state, gateway: identity?.() });
      if (digest) return { answer: digestJson(digest) };
      return { problem: 'LEDGER_UNANSWERED', detail: ledger.problem ?? 'The ledger cannot be read.' };
    },

    'POST /api/notify/test': async () => {
      if (receiversOf(source.current).length === 0)
        return { problem: 'NO_RECEIVER', detail: 'Set notify in routes.yaml to send notifications.' };
      return { answer: { results: (await notifier()?.test()) ?? [] } };
    },
  };
}
