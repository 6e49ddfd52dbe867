import express, { type Router } from 'express';
import { sendProblem } from '../problems/problem.ts';
import { requireJson } from './guard.ts';
import type { AdminContext } from './operations.ts';

/** `GET /api/shadow`: the shadows of the configuration. `POST /api/shadow/stop`: ends one until its settings change. */
export function shadowRoutes({ operations }: AdminContext): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/api/shadow', (_req, res) => void res.json({ shadows: operations.shadow?.()?.status() ?? [] }));
  router.post('/api/shadow/stop', requireJson, express.json({ limit: '16kb' }), async (req, res) => {
    const { version } = (req.body ?? {}) as Record<string, unknown>;
    if (typeof version !== 'string') return sendProblem(res, 'BAD_REQUEST', '`version` must be a version such as v1.');
    const stop = await operations.shadow?.()?.stop(version);
    if (stop?.kind === 'stopped') res.json({ shadow: stop.shadow, stored: stop.isStored });
    else sendProblem(res, 'NO_SHADOW', stop?.reason ?? 'No version has a shadow.');
  });
  return router;
}
