import { stat } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express, {
  type ErrorRequestHandler,
  type Express,
  type NextFunction,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import { baseOf, baseOfPath, rootBase } from '../../config/api.ts';
import type { Contract, Snapshot } from '../../config/snapshot.ts';
import { sendInternalError, sendProblem } from '../../problems/problem.ts';
import { parseRequestTarget } from '../../routing/requestTarget.ts';
import type { Clock } from '../../shared/clock.ts';
import { largestContractBytes } from '../../shared/fileSystem.ts';
import type { CancelledBrownouts } from '../../versions/lifecycle/brownouts.ts';
import { bundleHandler, createPageThread, guideHandler, type PageThread } from './guides.ts';
import { indexPolicy } from './html.ts';
import { calendarText, feedText } from './lifecycleFeeds.ts';
import {
  catalogJson,
  catalogType,
  type Overview,
  type Overviews,
  overviewJson,
  overviewOf,
  overviewsOfHost,
} from './overview.ts';
import { indexPage } from './page.ts';
import { calendarPath, catalogPath, contractType, feedPath, publishedName } from './paths.ts';

/** `cancelled`: the brownouts that were skipped or stopped; undefined: none. */
interface DiscoverySource {
  readonly current: Snapshot;
  readonly cancelled?: CancelledBrownouts;
}

type DiscoveryHandler = (req: IncomingMessage, res: ServerResponse) => void;

export type DiscoveryFactory = (source: DiscoverySource, clock: Clock) => DiscoveryHandler;

/**
 * Answers the requests for which `isDiscovery` is true: the index, the contracts, the guides, the API catalog, and the dates
 * as a calendar and a feed. `notice` receives a line for each request that failed unexpectedly.
 */
export function createDiscovery(
  source: DiscoverySource,
  clock: Clock,
  notice: (line: string) => void = () => {},
): DiscoveryHandler {
  // Each API of each snapshot needs its own app, because the routes of the app contain the path of the API.
  let built:
    | { readonly snapshot: Snapshot; readonly thread: PageThread; readonly apps: Map<string, Express> }
    | undefined;
  return (req, res) => {
    const snapshot = source.current;
    if (built?.snapshot !== snapshot) built = { snapshot, thread: createPageThread(), apps: new Map() };
    const { thread, apps } = built;
    const base = baseOfPath(pathOf(req), snapshot);
    const app = apps.get(base) ?? discoveryApp({ snapshot, base, thread, source, clock, notice });
    apps.set(base, app);
    app(req, res);
  };
}

function pathOf({ url = '' }: IncomingMessage): string {
  const target = parseRequestTarget(url);
  return typeof target === 'string' ? url : target.originForm.slice(0, target.pathEnd);
}

interface DiscoveredApi {
  readonly snapshot: Snapshot;
  readonly base: string;
  readonly thread: PageThread;
  readonly source: DiscoverySource;
  readonly clock: Clock;
  readonly notice: (line: string) => void;
}

function discoveryApp({ snapshot, base, thread, source, clock, notice }: DiscoveredApi): Express {
  const overviewNow = (): Overview => overviewOf(snapshot, base, clock.now(), source.cancelled);
  const hostNow = (): Overviews => overviewsOfHost(snapshot, clock.now(), source.cancelled);
  // At the root are the dates of all APIs.
  const datesNow = (): Overviews => (base === rootBase ? hostNow() : [overviewNow()]);
  const path = snapshot.gateway.basePath + base;
  const app = express();
  app.disable('x-powered-by');
  app.enable('strict routing');
  app.enable('case sensitive routing');

  const root = express.Router({ strict: true, caseSensitive: true });
  addResource(root, catalogPath, catalogHandler(hostNow));
  const belowPath = express.Router({ strict: true, caseSensitive: true });
  addResource(belowPath, '/', indexHandler(overviewNow));
  addResource(belowPath, '/lifecycle.ics', datesHandler('text/calendar', calendarText, datesNow));
  addResource(belowPath, '/lifecycle.atom', datesHandler('application/atom+xml', feedText, datesNow));
  addResource(belowPath, '/contracts/:name', contractHandler(snapshot, base, bundleHandler(thread, notice)));
  addResource(belowPath, '/guides/:name', guideHandler(snapshot, base, source, thread, clock, notice));

  app.use(commonHeaders);
  app.use(root);
  app.use(escapeRoute(path), belowPath);
  app.use((_req, res) => sendProblem(res, 'NOT_FOUND', 'There is no resource at this path.'));
  app.use(onError(notice));
  return app;
}

/** Adds a public resource: `handler` answers GET and HEAD, and a CORS preflight is always allowed. */
function addResource(router: Router, path: string, handler: RequestHandler): void {
  const methods = 'GET, HEAD, OPTIONS';
  router.get(path, handler);
  router.options(path, (_req, res) => {
    res.set({ Allow: methods, 'Access-Control-Allow-Methods': methods, 'Access-Control-Max-Age': '86400' });
    res.status(204).end();
  });
  router.all(path, (_req, res) => {
    res.set('Allow', methods);
    sendProblem(res, 'METHOD_NOT_ALLOWED', `This resource supports only ${methods}.`);
  });
}

// Caches may keep responses for one minute, which limits the load, and a reload is still visible soon. Shared caches serve a response
// to other clients, too. So no response depends on Host or X-Forwarded-*, by which one client could choose the content for the others.
const commonHeaders: RequestHandler = (_req, res, next) => {
  res.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'Link',
    'Cache-Control': 'public, max-age=60',
    'X-Content-Type-Options': 'nosniff',
    Link: `<${catalogPath}>; rel="api-catalog"`,
  });
  next();
};

function indexHandler(overviewNow: () => Overview): RequestHandler {
  return (req, res) => {
    const overview = overviewNow();
    res.vary('Accept');
    res.append('Link', `<${calendarPath(overview.path)}>; rel="alternate"; type="text/calendar"`);
    res.append('Link', `<${feedPath(overview.path)}>; rel="alternate"; type="application/atom+xml"`);
    // A client that accepts neither type gets JSON, which is more useful than a 406.
    if (req.accepts(['application/json', 'text/html']) !== 'text/html') {
      sendJson(res, 'application/json', overviewJson(overview));
      return;
    }
    res.set({ 'Content-Security-Policy': indexPolicy, 'Referrer-Policy': 'no-referrer' });
    res.type('html').send(indexPage(overview));
  };
}

/** All dates of all versions of these APIs, as `textOf` writes them. Express adds an ETag and answers conditional requests. */
function datesHandler(type: string, textOf: (apis: Overviews) => string, datesNow: () => Overviews): RequestHandler {
  return (_req, res) => {
    res.setHeader('Content-Type', `${type}; charset=utf-8`);
    res.send(textOf(datesNow()));
  };
}

/**
 * Serves contracts by their published name: a single file as it is. The response for an unpublished contract is the same as for one that
 * does not exist.
 */
function contractHandler(
  snapshot: Snapshot,
  base: string,
  sendBundle: (contract: Contract, res: Response, next: NextFunction) => void,
): RequestHandler {
  return (req, res, next) => {
    const contract = snapshot.sortedVersions.find(
      (version) => baseOf(version.name) === base && publishedName(version) === req.params['name'],
    )?.contract;
    if (contract === undefined) {
      sendProblem(res, 'NOT_FOUND', 'No contract is published under this name.');
      return;
    }
    if (contract.files.slice(1).some(([, digest]) => digest !== '')) return sendBundle(contract, res, next);
    res.setHeader('Content-Type', contractType(contract));
    const onUnreadable = (): void =>
      sendProblem(res, 'CONTRACT_UNREADABLE', 'The contract cannot be read at the moment.');
    // Opening a pipe would block a thread of libuv's pool until a writer opens it too.
    stat(contract.file, (statError, stats) => {
      if (statError || !stats.isFile() || stats.size > largestContractBytes) return onUnreadable();
      // The path comes from routes.yaml, not from the request, so a folder such as `.deploy` in it is allowed.
      const options = { dotfiles: 'allow', cacheControl: false, acceptRanges: false } as const;
      res.sendFile(contract.file, options, (error: Error | undefined) => {
        if (error === undefined) return;
        if (res.headersSent) res.destroy();
        else if ('status' in error && error.status === 412)
          sendProblem(res, 'PRECONDITION_FAILED', 'The contract has changed.');
        else onUnreadable();
      });
    });
  };
}

function catalogHandler(hostNow: () => Overviews): RequestHandler {
  return (_req, res) => {
    sendJson(res, catalogType, catalogJson(hostNow()));
  };
}

// Sends a buffer, because Express would add a charset to the type of a string, and these types have no charset.
function sendJson(res: Response, type: string, body: object): void {
  res.setHeader('Content-Type', type);
  res.send(Buffer.from(`${JSON.stringify(body, null, 2)}\n`));
}

/** Escapes the characters of a path that Express would read as a pattern. */
function escapeRoute(path: string): string {
  return (path || '/').replace(/[{}()[\]+?!:*\\]/g, '\\$&');
}

/** Replaces Express's own error page, which would show a stack trace. */
function onError(notice: (line: string) => void): ErrorRequestHandler {
  return (error, req, res, _next) => sendInternalError(res, req, error, notice);
}
