import express, { type Router } from 'express';
import { sendProblem } from '../problems/problem.ts';
import { requireJson } from './guard.ts';
import type { AdminContext } from './operations.ts';
import { sendAnswer } from './operatorRoutes.ts';

// Evidence stays in the ledger file of each gateway.
const ofOneGateway =
  'Each gateway of the fleet compares its own samples: this is the evidence of the gateway that was asked.';

/**
 * `GET /api/shadow`: the shadows of the configuration. `GET /api/shadow/{version}`: the differences between the responses of a version and
 * its target. `POST /api/shadow/stop`: ends a shadow until its settings change. `GET /api/drift/{version}`: what a version returns that
 * its contract does not declare.
 */
export function shadowRoutes({ source, operations }: AdminContext): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/api/shadow', (_req, res) => void res.json({ shadows: operations.shadow?.()?.status() ?? [] }));
  router.post('/api/shadow/stop', requireJson, express.json({ limit: '16kb' }), async (req, res) => {
    const { version } = (req.body ?? {}) as Record<string, unknown>;
    if (typeof version !== 'string') return sendProblem(res, 'BAD_REQUEST', '`version` must be a version such as v1.');
    const stop = await operations.shadow?.()?.stop(version);
    if (stop?.kind === 'stopped') res.json({ shadow: stop.shadow, stored: stop.isStored });
    else sendProblem(res, 'NO_SHADOW', stop?.reason ?? 'No version has a shadow.');
  });
  router.get('/api/shadow/:version', ({ params: { version } }, res) =>
    sendAnswer(res, async () => {
      await operations.flush?.();
      const notes = operations.fleet ? [ofOneGateway] : [];
      return operations.usage?.query('shadow', source.current, { version, now: operations.clock.now(), notes });
    }),
  );
  router.get('/api/drift/:version', ({ params: { version } }, res) =>
    sendAnswer(res, async () => {
      await operations.flush?.();
      const notes = operations.fleet ? [ofOneGateway] : [];
      return operations.usage?.query('drift', source.current, { version, now: operations.clock.now(), notes });
    }),
  );
  return router;
}
