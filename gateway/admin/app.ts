import type { RequestListener } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { TrafficSamples } from '../observability/recentTraffic.ts';
import { sendProblem } from '../problems/problem.ts';
import { Attempts } from './attempts.ts';
import { believeProxies } from './clientAddress.ts';
import { login } from './dashboard/login.ts';
import { dashboard } from './dashboard/router.ts';
import { securityFields } from './dashboard/securityFields.ts';
import { Sessions } from './dashboard/sessions.ts';
import { admission, guard, oneHost } from './guard.ts';
import { LastUse } from './lastUse.ts';
import { metrics } from './metrics.ts';
import { type Operations, operations, statusOf } from './operations.ts';
import { probes, type Readiness } from './probes.ts';

/** The operators' side of the gateway, on its own listener. */
export function createAdmin(
  live: { readonly current: Snapshot },
  state: Readiness,
  asked: Operations,
): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.use(believeProxies(app, live));
  app.use(securityFields);
  app.use(notKept);
  app.use(oneHost);
  // Probes come before the guard: an orchestrator has no token, and calls by the address of a container.
  app.use(probes(state));
  const sessions = new Sessions();
  const attempts = new Attempts();
  const lastUse = new LastUse(() => asked.usage);
  const traffic = new TrafficSamples(asked.monotonic);
  const admits = admission(live, sessions, attempts, asked.clock);
  app.use(login(live, sessions, attempts, asked.clock));
  app.use(guard(live, admits, attempts, asked.clock));
  app.use(
    dashboard(
      {
        status: () => statusOf(live, asked, lastUse, traffic),
        ready: () => state.ready(),
        admits,
        clock: asked.clock,
      },
      sessions,
    ),
  );
  app.use(operations(live, asked, lastUse, traffic, admits));
  app.use(metrics(live, asked, lastUse));
  app.use(nothingHere);
  app.use(lastResort);
  return (req, res) => app(req, res);
}

const notKept: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};

const nothingHere: RequestHandler = (_req, res) =>
  sendProblem(res, 'NOT_FOUND', 'The admin listener has nothing under this path.');

/** As Express's reader of bodies says it. */
function isUnparsed(error: unknown): boolean {
  return error instanceof SyntaxError && 'type' in error && error.type === 'entity.parse.failed';
}

const lastResort: ErrorRequestHandler = (error, _req, res, _next) => {
  // Express's own answer would show a stack.
  const { status } = error as { status?: number };
  if (res.headersSent) res.destroy();
  else if (status === 413) sendProblem(res, 'BODY_TOO_LARGE', 'The body is longer than this operation takes.');
  else if (error instanceof URIError)
    sendProblem(res, 'BAD_REQUEST', 'The path has a percent sign that begins no UTF-8.');
  else if (status !== undefined && status < 500)
    sendProblem(res, 'BAD_REQUEST', isUnparsed(error) ? 'The body is not JSON.' : 'The request cannot be read.');
  else sendProblem(res, 'INTERNAL_ERROR', 'The answer could not be made.');
};
