import express, { type Router } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { exposition, metricsType } from '../observability/exposition.ts';
import { Processes } from '../observability/processes.ts';
import { gauges } from './gauges.ts';
import type { Operations } from './operations.ts';

/** `GET /metrics`: what the processes have counted, and what the gateway is. */
export function metrics(
  live: { readonly current: Snapshot },
  asked: Pick<Operations, 'report' | 'config' | 'clock'>,
): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  const processes = new Processes();
  router.get('/metrics', async (_req, res) => {
    const report = await asked.report(true);
    const parts = await processes.parts(report.workers);
    const text = await exposition([...parts, gauges(live.current, report, asked.config(), asked.clock.now())]);
    res.set('Content-Type', metricsType).send(text);
  });
  return router;
}
