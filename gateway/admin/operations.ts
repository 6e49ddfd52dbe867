import express, { type Router } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { stageOf } from '../lifecycle/stage.ts';
import { sendProblem } from '../problems/send.ts';
import type { Clock } from '../shared/clock.ts';
import type { VersionUse } from '../usage/versionUse.ts';

/** What operators may ask of a running gateway. Outcomes and states go out as they are, as JSON. */
export interface Operations {
  reload(): { readonly kind: string };
  config(): object;
  readonly uses: ReadonlyMap<string, VersionUse>;
  readonly clock: Clock;
}

// What each outcome of a reload says about the edit: taken over, wrong in itself, or in conflict with a promise.
const statuses: Readonly<Record<string, number>> = { reloaded: 200, unchanged: 200, faulty: 422, refused: 409 };

/** `GET /api/status` and `POST /api/reload`. */
export function operations(live: { readonly current: Snapshot }, asked: Operations): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/api/status', (_req, res) => {
    res.json({ config: asked.config(), versions: versionsOf(live.current, asked) });
  });
  router.post('/api/reload', (req, res) => {
    // A form of another site can post, too, but not this type (CSRF).
    if (!req.is('application/json')) {
      sendProblem(res, 'UNSUPPORTED_MEDIA_TYPE', 'Send it with Content-Type: application/json; the body may be {}.');
      return;
    }
    const outcome = asked.reload();
    res.status(statuses[outcome.kind] ?? 500).json(outcome);
  });
  return router;
}

function versionsOf({ byMajor }: Snapshot, { uses, clock }: Operations): object[] {
  const now = clock.now();
  return byMajor.map((version) => {
    const use = uses.get(version.name);
    return {
      version: version.name,
      stage: stageOf(version, now),
      in_flight: use?.inFlight ?? 0,
      last_served: use?.lastServed === undefined ? null : new Date(use.lastServed).toISOString(),
      targets: version.targets.map(({ url }) => url),
    };
  });
}
