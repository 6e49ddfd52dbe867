import type { RequestListener } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler, type Router } from 'express';
import helmet from 'helmet';
import type { Snapshot } from '../../config/snapshot.ts';
import { sendInternalError, sendProblem } from '../../problems/problem.ts';
import { TrafficSamples } from '../../usage/observability/recentTraffic.ts';
import { apiRouter } from './apiRouter.ts';
import { dashboardRoutes, loginRoutes } from './dashboard/routes.ts';
import { Sessions } from './dashboard/sessions.ts';
import { accessCheck, refuseSecondHostField, requireAccess, TokenAttempts, trustProxies } from './guard.ts';
import { nameGateway } from './identity.ts';
import { LastUse } from './lastUse.ts';
import { metricsRoute } from './metrics.ts';
import type { AdminContext, Operations } from './operations.ts';
import { operatorRoutes } from './operatorRoutes.ts';
import { statusJson } from './status.ts';

export interface Readiness {
  /** False while the gateway starts and while it drains: then load balancers must not send it traffic. */
  ready(): boolean;
  /** Why the gateway must not become ready with its configuration, in lines; undefined: it may become ready. */
  refusal?(): readonly string[] | undefined;
}

/** The application of the admin listener. */
export function createAdmin(
  source: { readonly current: Snapshot },
  readiness: Readiness,
  operations: Operations,
): RequestListener {
  const { clock, notice = () => {} } = operations;
  const app = express();
  app.disable('x-powered-by');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.use(trustProxies(app, source));
  app.use(securityHeaders);
  app.use(noStore);
  app.use(refuseSecondHostField);
  // Before `requireAccess`: an orchestrator has no token and calls by the address of a container.
  app.use(probeRoutes(readiness));
  const sessions = new Sessions();
  const attempts = new TokenAttempts();
  const accessOf = accessCheck(source, sessions, attempts, clock);
  const context: AdminContext = {
    source,
    operations,
    lastUse: new LastUse(operations.live),
    traffic: operations.traffic ?? new TrafficSamples(),
    accessOf,
  };
  app.use(loginRoutes(source, sessions, attempts, clock));
  app.use(requireAccess(source, accessOf, attempts, clock));
  if (operations.identity) app.use(nameGateway(operations.identity));
  const dashboardContext = { status: () => statusJson(context), ready: () => readiness.ready(), accessOf, clock };
  app.use(dashboardRoutes(dashboardContext, sessions));
  app.use(apiRouter(operatorRoutes(context)));
  for (const { routes } of operations.features) if (routes) app.use(apiRouter(routes(context)));
  app.use(metricsRoute(context));
  app.use(notFound);
  app.use(onError(notice));
  return (req, res) => app(req, res);
}

/** A browser may only show the dashboard, and may load nothing from other origins. */
const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'"],
      'connect-src': ["'self'"],
      'form-action': ["'self'"],
      'base-uri': ["'none'"],
      'frame-ancestors': ["'none'"],
    },
  },
  xFrameOptions: { action: 'deny' },
  referrerPolicy: { policy: 'no-referrer' },
  // Browsers apply these three on https only, and log warnings on the plain HTTP of this listener.
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  strictTransportSecurity: false,
});

const noStore: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};

/** `/healthz`: the process runs. `/readyz`: the gateway accepts traffic, and its configuration is accepted. */
function probeRoutes(readiness: Readiness): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  addProbe(router, '/healthz', (_req, res) => {
    res.type('text/plain').send('ok');
  });
  addProbe(router, '/readyz', (_req, res) => {
    const refusal = readiness.refusal?.();
    if (!readiness.ready()) res.status(503).json({ ready: false, reason: 'The gateway is starting or draining.' });
    else if (refusal) res.status(503).json({ ready: false, reason: refusal.join('  ') });
    else res.json({ ready: true });
  });
  return router;
}

function addProbe(router: Router, path: string, handler: RequestHandler): void {
  router.get(path, handler);
  router.all(path, (_req, res) => {
    res.set('Allow', 'GET, HEAD');
    sendProblem(res, 'METHOD_NOT_ALLOWED', 'A probe only accepts GET and HEAD.');
  });
}

const notFound: RequestHandler = (_req, res) =>
  sendProblem(res, 'NOT_FOUND', 'The admin listener has nothing at this path.');

/** Replaces Express's own error page, which would show a stack trace. */
function onError(notice: (line: string) => void): ErrorRequestHandler {
  return (error, req, res, _next) => {
    const { status = 500 } = error as { status?: number };
    if (res.headersSent || status >= 500) sendInternalError(res, req, error, notice);
    else if (status === 413) sendProblem(res, 'BODY_TOO_LARGE', 'The body is longer than this operation accepts.');
    else if (error instanceof URIError) sendProblem(res, 'BAD_REQUEST', 'The path has an invalid percent-encoding.');
    else
      sendProblem(res, 'BAD_REQUEST', isJsonError(error) ? 'The body is not JSON.' : 'The request cannot be parsed.');
  };
}

/** The error of Express's body parser for invalid JSON. */
function isJsonError(error: unknown): boolean {
  return error instanceof SyntaxError && 'type' in error && error.type === 'entity.parse.failed';
}
