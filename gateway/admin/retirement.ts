import type { Router } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/problem.ts';
import type { Operations } from './operations.ts';
import { nobodyKnows } from './question.ts';
import { sendAnswer } from './usage.ts';

/** `GET /api/versions/{version}/retirement`: may it go? */
export function addRetirement(router: Router, live: { readonly current: Snapshot }, asked: Operations): void {
  router.get('/api/versions/:version/retirement', async ({ params, query }, res) => {
    // A client that called a moment ago must not be missing.
    await asked.flush?.();
    const report = await asked.report();
    const snapshot = live.current;
    const { version: name } = params;
    if (!asked.usage && !snapshot.versions.has(name)) {
      sendProblem(res, 'UNKNOWN_VERSION', `No such version: ${nobodyKnows(undefined, snapshot)}`);
      return;
    }
    const question = { name, query, report, now: asked.clock.now() };
    await sendAnswer(res, asked.usage?.ask('retirement', snapshot, question));
  });
}
