import express, { type RequestHandler, type Router } from 'express';
import { sendProblem } from '../problems/problem.ts';

export interface Readiness {
  /** False while the gateway starts and while it drains: no new traffic should be sent to it. */
  ready(): boolean;
}

/** `/healthz`: the process runs. `/readyz`: it takes traffic. */
export function probes(state: Readiness): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  serve(router, '/healthz', (_req, res) => {
    res.type('text/plain').send('ok');
  });
  serve(router, '/readyz', (_req, res) => {
    if (state.ready()) res.json({ ready: true });
    else res.status(503).json({ ready: false, reason: 'The gateway is starting or draining.' });
  });
  return router;
}

function serve(router: Router, path: string, handler: RequestHandler): void {
  router.get(path, handler);
  router.all(path, (_req, res) => {
    res.set('Allow', 'GET, HEAD');
    sendProblem(res, 'METHOD_NOT_ALLOWED', 'A probe can be read only.');
  });
}
