import type { Router } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/send.ts';
import { gather } from '../retirement/gather.ts';
import { asServed } from '../retirement/served.ts';
import { judge } from '../retirement/verdict.ts';
import type { Operations } from './operations.ts';
import { durationIn, expectOnly, nobodyKnows, removedIn } from './question.ts';
import { ledgerOf, orProblem } from './usage.ts';

/** `GET /api/versions/{version}/retirement`: may it go? */
export function addRetirement(router: Router, live: { readonly current: Snapshot }, asked: Operations): void {
  router.get('/api/versions/:version/retirement', async ({ params, query }, res) => {
    const report = await asked.report();
    const snapshot = live.current;
    const { version: name } = params;
    const isKnown = snapshot.versions.has(name) || (asked.usage && removedIn(asked.usage, snapshot).includes(name));
    if (!isKnown) {
      sendProblem(res, 'UNKNOWN_VERSION', `No such version: ${nobodyKnows(asked.usage, snapshot)}`);
      return;
    }
    const queries = ledgerOf(asked, res);
    if (!queries) return;
    orProblem(res, () => {
      expectOnly(query, ['quiet']);
      const quiet = durationIn(query, 'quiet') ?? snapshot.retire.quiet;
      res.json(asServed(judge(gather({ name }, { snapshot, queries, report }, quiet, asked.clock.now()))));
    });
  });
}
