import express, { type Router } from 'express';
import { comparisonKinds, comparisonNames } from '../../contracts/shadow/sampling/comparisonStatus.ts';
import type { ShadowControl } from '../../contracts/shadow/sampling/shadowControl.ts';
import { sendProblem } from '../../problems/problem.ts';
import { requireJson } from './guard.ts';
import type { AdminContext } from './operations.ts';
import { sendAnswer } from './operatorRoutes.ts';

// Evidence stays in the ledger file of each gateway.
const oneGatewayNote =
  'Each gateway of the fleet compares its own samples: this is the evidence of the gateway that was asked.';

/** The problem code if the version has no such comparison. */
const noComparisonCodes = { shadow: 'NO_SHADOW', drift: 'NO_DRIFT' } as const;

/**
 * `GET /api/shadow`: the shadows of the configuration. `GET /api/shadow/{version}`: how the responses of a version differ from
 * those of the version that gets the copies. `POST /api/shadow/stop`: ends a shadow until its settings change. `/api/drift` has
 * the same three for the comparison of a version with its own contract. `GET /api/shadow/{version}/requests`: the sampled
 * requests, as a file for `replay`; with `?values=true` also their values, if the configuration keeps them.
 */
export function shadowRoutes(
  { source, operations }: AdminContext,
  control: () => Pick<ShadowControl, 'status' | 'drifts' | 'stop' | 'requests'> | undefined,
): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/api/shadow', (_req, res) => void res.json({ shadows: control()?.status() ?? [] }));
  router.get('/api/drift', (_req, res) => void res.json({ drifts: control()?.drifts() ?? [] }));
  for (const kind of comparisonKinds) {
    router.post(`/api/${kind}/stop`, requireJson, express.json({ limit: '16kb' }), async (req, res) => {
      const { version } = (req.body ?? {}) as Record<string, unknown>;
      if (typeof version !== 'string')
        return sendProblem(res, 'BAD_REQUEST', '`version` must be a version such as v1.');
      const stop = await control()?.stop(kind, version);
      if (stop?.kind === 'stopped') res.json({ [kind]: stop.status, stored: stop.isStored });
      else sendProblem(res, noComparisonCodes[kind], stop?.reason ?? `No version has a ${comparisonNames[kind]}.`);
    });
    router.get(`/api/${kind}/:version`, ({ params: { version = '' } }, res) =>
      sendAnswer(res, async () => {
        await operations.live.flush();
        const notes = operations.live.fleet ? [oneGatewayNote] : [];
        return operations.live.ledger?.query(kind, source.current, { version, now: operations.clock.now(), notes });
      }),
    );
  }
  router.get('/api/shadow/:version/requests', ({ params: { version }, query }, res) => {
    const options = { now: operations.clock.now(), withValues: query['values'] === 'true' };
    const exported = control()?.requests.exportOf(source.current, version, options);
    if (exported) res.json(exported);
    else sendProblem(res, 'NO_SHADOW', `/${version} has no shadow.`);
  });
  return router;
}
