import type { IncomingMessage, ServerResponse } from 'node:http';
import express, {
  type ErrorRequestHandler,
  type Express,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/problem.ts';
import type { Clock } from '../shared/clock.ts';
import { catalogType, linkset } from './catalog.ts';
import { contract } from './contract.ts';
import { guide } from './guide.ts';
import { overviewJson, overviewOf } from './overview.ts';
import { page } from './page.ts';
import { catalogPath } from './paths.ts';
import { contentSecurityPolicy } from './style.ts';

export type Discovery = (
  live: { readonly current: Snapshot },
  clock: Clock,
) => (req: IncomingMessage, res: ServerResponse) => void;

/** Answers the requests that `isDiscovery` recognises: the index, the contracts, the guides and the API catalog. */
export const createDiscovery: Discovery = (live, clock) => {
  // The routes contain the base path, so each snapshot has an app of its own.
  let served: { readonly snapshot: Snapshot; readonly app: Express } | undefined;
  return (req, res) => {
    const snapshot = live.current;
    if (served?.snapshot !== snapshot) served = { snapshot, app: discoveryApp(snapshot, clock) };
    served.app(req, res);
  };
};

function discoveryApp(snapshot: Snapshot, clock: Clock): Express {
  const app = express();
  app.disable('x-powered-by');
  app.enable('strict routing');
  app.enable('case sensitive routing');

  const below = express.Router({ strict: true, caseSensitive: true });
  serve(below, '/', index(snapshot, clock));
  serve(below, '/contracts/:name', contract(snapshot));
  serve(below, '/guides/:name', guide(snapshot, clock));

  app.use(everyAnswer);
  const root = express.Router({ strict: true, caseSensitive: true });
  serve(root, catalogPath, catalog(snapshot, clock));
  app.use(root);
  app.use(literal(snapshot.gateway.basePath), below);
  app.use((_req, res) => sendProblem(res, 'NOT_FOUND', 'There is nothing under this path.'));
  app.use(lastResort);
  return app;
}

/** GET and HEAD are answered by `handler`; everything here is public, so a preflight is always granted. */
function serve(router: Router, path: string, handler: RequestHandler): void {
  const methods = 'GET, HEAD, OPTIONS';
  router.get(path, handler);
  router.options(path, (_req, res) => {
    res.set({ Allow: methods, 'Access-Control-Allow-Methods': methods, 'Access-Control-Max-Age': '86400' });
    res.status(204).end();
  });
  router.all(path, (_req, res) => {
    res.set('Allow', methods);
    sendProblem(res, 'METHOD_NOT_ALLOWED', `This resource can be read only: ${methods}.`);
  });
}

// One minute: long enough to shield us, short enough that a reload is seen soon. A shared cache may keep these answers, so
// nothing in them depends on Host or X-Forwarded-*, which one client could choose for all others.
const everyAnswer: RequestHandler = (_req, res, next) => {
  res.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'Link',
    'Cache-Control': 'public, max-age=60',
    'X-Content-Type-Options': 'nosniff',
    Link: `<${catalogPath}>; rel="api-catalog"`,
  });
  next();
};

function index(snapshot: Snapshot, clock: Clock): RequestHandler {
  return (req, res) => {
    const overview = overviewOf(snapshot, clock.now());
    res.vary('Accept');
    // JSON is also for those who accept neither: more use to them than a 406.
    if (req.accepts(['application/json', 'text/html']) !== 'text/html') {
      sendJson(res, 'application/json', overviewJson(overview));
      return;
    }
    res.set({ 'Content-Security-Policy': contentSecurityPolicy, 'Referrer-Policy': 'no-referrer' });
    res.type('html').send(page(overview, snapshot));
  };
}

function catalog(snapshot: Snapshot, clock: Clock): RequestHandler {
  return (_req, res) => {
    const overview = overviewOf(snapshot, clock.now());
    sendJson(res, catalogType, linkset(overview, snapshot));
  };
}

// A buffer, since Express adds a charset to the type of a string, and these types have none.
function sendJson(res: Response, type: string, body: object): void {
  res.setHeader('Content-Type', type);
  res.send(Buffer.from(`${JSON.stringify(body, null, 2)}\n`));
}

/** `path` as a route that means itself: a base path may have characters that Express reads as a pattern. */
function literal(path: string): string {
  return (path || '/').replace(/[{}()[\]+?!:*\\]/g, '\\$&');
}

const lastResort: ErrorRequestHandler = (_error, _req, res, _next) => {
  // Express's own answer would show a stack.
  if (res.headersSent) res.destroy();
  else sendProblem(res, 'INTERNAL_ERROR', 'The answer could not be made.');
};
