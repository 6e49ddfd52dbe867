import express, { type Router } from 'express';
import { dateTime } from '../../config/schema/units.ts';
import { sendProblem } from '../../problems/problem.ts';
import { requireJson } from './guard.ts';
import type { AdminContext } from './operations.ts';
import { isLine, maxNameLength } from './operatorRoutes.ts';

const maxReasonLength = 300;

/** `GET /api/fleet`: the gateways. `POST /api/fleet/forget`: marks a silent gateway as gone. */
export function fleetRoutes({ operations: { live } }: AdminContext): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  const { fleet } = live;
  const noFleet = 'This gateway is on its own. Set fleet.store in routes.yaml to run several gateways as one.';
  router.get('/api/fleet', (_req, res) => {
    if (fleet) res.json(fleet.status());
    else sendProblem(res, 'NO_FLEET', noFleet);
  });
  router.post('/api/fleet/forget', requireJson, express.json({ limit: '16kb' }), async (req, res) => {
    const { name, reason, ended_at: ended } = (req.body ?? {}) as Record<string, unknown>;
    const endedAt = typeof ended === 'string' ? dateTime.safeParse(ended).data : undefined;
    if (!fleet) sendProblem(res, 'NO_FLEET', noFleet);
    else if (!isLine(name, maxNameLength) || name === '')
      sendProblem(res, 'BAD_REQUEST', '`name` must be the name of a gateway, as `GET /api/fleet` lists it.');
    else if (!isLine(reason, maxReasonLength) || reason.trim() === '') {
      const detail = `\`reason\` must say why the gateway does not exist any more, in one line of at most ${maxReasonLength} characters.`;
      sendProblem(res, 'BAD_REQUEST', detail);
    } else if (ended !== undefined && endedAt === undefined) {
      const detail = '`ended_at` must be the time at which the gateway ended, such as 2026-11-23T21:10:00Z.';
      sendProblem(res, 'BAD_REQUEST', detail);
    } else {
      const outcome = await fleet.forget(name, reason, endedAt);
      if ('failure' in outcome)
        sendProblem(res, 'STORE_UNANSWERED', `The shared store does not answer: ${outcome.failure}.`);
      else if ('refused' in outcome) sendProblem(res, 'NOT_FORGOTTEN', outcome.refused);
      else res.json(outcome);
    }
  });
  return router;
}
