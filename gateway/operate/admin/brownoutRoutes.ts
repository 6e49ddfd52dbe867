import express, { type Router } from 'express';
import { sendProblem } from '../../problems/problem.ts';
import type { BrownoutControl } from '../../versions/restrictions/brownoutControl.ts';
import { CallsQuestion } from '../../versions/retirement/liveFacts.ts';
import { requireJson } from './guard.ts';
import type { AdminContext } from './operations.ts';
import { sendAnswer } from './operatorRoutes.ts';
import { parseBrownoutQuery } from './usageQueryParams.ts';

/**
 * `GET /api/brownouts`: the brownouts of the configuration. `GET /api/brownouts/{version}`: what clients did after a brownout
 * refused them. `POST /api/brownouts/stop`: ends a brownout early, on all gateways of a fleet.
 */
export function brownoutRoutes(
  { source, operations }: AdminContext,
  brownouts: Pick<BrownoutControl, 'status' | 'stop'>,
): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/api/brownouts', (_req, res) => void res.json({ brownouts: brownouts.status() }));
  router.post('/api/brownouts/stop', requireJson, express.json({ limit: '16kb' }), async (req, res) => {
    const { version, at } = (req.body ?? {}) as Record<string, unknown>;
    const start = at === undefined ? undefined : Date.parse(String(at));
    const detail =
      '`version` must be a version such as v1. `at` must be absent, or the start of a brownout as `GET /api/brownouts` lists it.';
    if (typeof version !== 'string' || Number.isNaN(start)) return sendProblem(res, 'BAD_REQUEST', detail);
    const stop = await brownouts.stop(version, start);
    if (stop.kind === 'stopped') res.json({ brownout: stop.brownout, stored: stop.isStored });
    else sendProblem(res, 'NO_BROWNOUT', stop.reason);
  });
  router.get('/api/brownouts/:version', ({ params: { version }, query }, res) =>
    sendAnswer(res, async () => {
      const { clock, live } = operations;
      const { ledger } = live;
      const window = parseBrownoutQuery(query);
      if (ledger === undefined) return undefined;
      // A quiet period of 0 leaves out the remarks on gateways that are gone.
      const state = await new CallsQuestion(live).answer([version], 0);
      return ledger.query('brownouts', source.current, { version, window, now: clock.now(), state });
    }),
  );
  return router;
}
