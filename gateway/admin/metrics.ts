import express, { type Router } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { exposition, metricsType } from '../observability/exposition.ts';
import { gauges } from './gauges.ts';
import type { LastUse } from './lastUse.ts';
import { ledgerGauges } from './ledgerState.ts';
import type { Operations } from './operations.ts';

/** `GET /metrics`: what the processes have counted, and what the gateway is. */
export function metrics(
  live: { readonly current: Snapshot },
  asked: Pick<Operations, 'report' | 'config' | 'clock' | 'usage'>,
  lastUse: LastUse,
): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/metrics', async (_req, res) => {
    const report = await asked.report(true);
    const parts = [...report.workers.map((worker) => worker.metrics ?? []), ...(report.absent ?? [])];
    const now = asked.clock.now();
    const known = await lastUse.in(report, live.current, now);
    const state = [...gauges(live.current, known, asked.config(), now), ...ledgerGauges(asked.usage)];
    const text = await exposition([...parts, state]);
    res.set('Content-Type', metricsType).send(text);
  });
  return router;
}
