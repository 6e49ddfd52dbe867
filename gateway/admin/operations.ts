import express, { type Router } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import type { TrafficSamples } from '../observability/recentTraffic.ts';
import type { ConfigStatus, ServingReport } from '../observability/report.ts';
import { sendProblem } from '../problems/problem.ts';
import type { Clock } from '../shared/clock.ts';
import type { Admits } from './guard.ts';
import { jsonOnly } from './jsonOnly.ts';
import type { LastUse } from './lastUse.ts';
import { ledgerStatus } from './ledgerState.ts';
import { addNames } from './names.ts';
import type { LedgerDesk } from './reading/questions.ts';
import { addRetirement } from './retirement.ts';
import { configOf, trafficOf, versionsOf, workersOf } from './status.ts';
import { addUsage } from './usage.ts';

/** What operators may ask of a running gateway. Outcomes and states go out as they are, as JSON. */
export interface Operations {
  reload(): Promise<{ readonly kind: string }>;
  /** What a reload would do; `text` in place of what the file says. */
  preview(text?: string): Promise<{ readonly kind: string }>;
  config(): ConfigStatus;
  report(metrics?: boolean): Promise<ServingReport>;
  /** Has what was counted written to the ledger. */
  flush?(): Promise<unknown>;
  readonly clock: Clock;
  /** Milliseconds that never go back, for rates; default: `performance.now`. */
  readonly monotonic?: () => number;
  /** Absent: no ledger is kept. */
  readonly usage?: LedgerDesk | undefined;
}

// What each outcome of a reload says about the edit: taken over, wrong in itself, or in conflict with a promise.
const statuses: Readonly<Record<string, number>> = {
  reloaded: 200,
  incomplete: 202,
  unchanged: 200,
  faulty: 422,
  refused: 409,
};

/** `GET /api/status`, usage, names and retirement, `POST /api/reload` and `POST /api/reload/preview`. */
export function operations(
  live: { readonly current: Snapshot },
  asked: Operations,
  lastUse: LastUse,
  traffic: TrafficSamples,
  admits: Admits,
): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/api/status', async (_req, res) => {
    res.json(await statusOf(live, asked, lastUse, traffic));
  });
  addUsage(router, live, asked);
  addNames(router, live, asked, admits);
  addRetirement(router, live, asked);
  router.post('/api/reload', jsonOnly, async (_req, res) => {
    const outcome = await asked.reload();
    res.status(statuses[outcome.kind] ?? 500).json(outcome);
  });
  // A routes.yaml of 10,000 versions has less than that.
  router.post('/api/reload/preview', jsonOnly, express.json({ limit: '4mb' }), async (req, res) => {
    const { routes_yaml: text } = req.body as { routes_yaml?: unknown };
    if (text !== undefined && typeof text !== 'string') {
      sendProblem(res, 'BAD_REQUEST', '`routes_yaml` is the text of the file to try, or absent for the gateway’s own.');
      return;
    }
    res.json(await asked.preview(text));
  });
  return router;
}

/** What `GET /api/status` answers. */
export async function statusOf(
  live: { readonly current: Snapshot },
  asked: Operations,
  lastUse: LastUse,
  traffic: TrafficSamples,
): Promise<object> {
  const isDue = traffic.isDue;
  const counted = await asked.report(isDue);
  if (isDue) traffic.add(counted);
  const report = await lastUse.in(counted, live.current, asked.clock.now());
  return {
    config: configOf(asked.config()),
    workers: workersOf(report),
    usage: ledgerStatus(asked.usage, asked.clock.now()),
    versions: versionsOf(live.current, report, asked.clock.now()),
    traffic: trafficOf(traffic.recent),
  };
}
