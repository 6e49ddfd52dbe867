import type { BrownoutControl } from '../../versions/restrictions/brownoutControl.ts';
import { CallsQuestion } from '../../versions/retirement/liveFacts.ts';
import { type ApiHandlers, noLedger } from './apiRouter.ts';
import type { AdminContext } from './operations.ts';
import { parseBrownoutQuery } from './usageQueryParams.ts';

export function brownoutRoutes(
  { source, operations: { clock, live } }: AdminContext,
  brownouts: Pick<BrownoutControl, 'status' | 'stop'>,
): Partial<ApiHandlers> {
  return {
    'GET /api/brownouts': () => ({ answer: { brownouts: brownouts.status() } }),

    'POST /api/brownouts/stop': async ({ body: { version, at } }) => {
      const start = at === undefined ? undefined : Date.parse(String(at));
      const detail =
        '`version` must be a version such as v1. `at` must be absent, or the start of a brownout as `GET /api/brownouts` lists it.';
      if (typeof version !== 'string' || Number.isNaN(start)) return { problem: 'BAD_REQUEST', detail };
      const stop = await brownouts.stop(version, start);
      if (stop.kind === 'nothing') return { problem: 'NO_BROWNOUT', detail: stop.reason };
      return { answer: { brownout: stop.brownout, stored: stop.isStored } };
    },

    'GET /api/brownouts/{version}': async ({ params: { version }, query }) => {
      const window = parseBrownoutQuery(query);
      if (live.ledger === undefined) return noLedger;
      // A quiet period of 0 leaves out the remarks on gateways that are gone.
      const state = await new CallsQuestion(live).answer([version], 0);
      return live.ledger.query('brownouts', source.current, { version, window, now: clock.now(), state });
    },
  };
}
