import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Snapshot } from '../../config/snapshot.ts';
import { sendProblem } from '../../problems/problem.ts';
import type { Clock } from '../../shared/clock.ts';
import { assetFile } from '../../shared/packageFiles.ts';
import { clientAddress, isSameOrigin, isSameSecret, type TokenAttempts } from '../caller.ts';
import { StatusEvents, type WatchedGateway } from './events.ts';
import { type Sessions, sessionCookie, sessionOf } from './sessions.ts';

/** `/login` and its style sheet and icon. Open to all clients and host names, but only while a token is set. */
export function loginRoutes(
  source: { readonly current: Snapshot },
  sessions: Sessions,
  attempts: TokenAttempts,
  clock: Clock,
): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.use((_req, _res, next) => next(source.current.gateway.adminToken === undefined ? 'router' : undefined));
  for (const name of ['style.css', 'icon.svg']) router.get(`/assets/${name}`, sendAsset(name));
  router.get('/login', (_req, res) => sendLoginForm(res, 200, ''));
  router.post('/login', refuseOtherSites, express.urlencoded({ extended: false, limit: '4kb' }), (req, res) => {
    const [address, now] = [clientAddress(req), clock.now()];
    const token = source.current.gateway.adminToken as string;
    if (!isSameSecret(tokenIn(req), token) || !attempts.accepts(address, token, now)) {
      const wait = Math.ceil(attempts.wait(address, now) / 1_000);
      attempts.fail(address, now);
      if (wait > 0) res.set('Retry-After', String(wait));
      if (wait > 0) sendLoginForm(res, 429, `Too many attempts. Try again in ${wait} seconds.`);
      else sendLoginForm(res, 401, 'This is not the admin token.');
      return;
    }
    attempts.succeed(address, token);
    res.set('Set-Cookie', sessionCookie(req, sessions.open(token, now)));
    res.redirect(303, '/');
  });
  return router;
}

/** The dashboard at `/`, its assets, the event stream and `POST /logout`. The page gets its data from the API. */
export function dashboardRoutes(watched: WatchedGateway, sessions: Sessions): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  const events = new StatusEvents(watched);
  router.get('/', sendAsset('index.html'));
  // A route for each file: no request can name another file.
  for (const name of [...readdirSync(dirname(assetPath('index.html'))), ...Object.keys(packageAssets)]) {
    if (/\.(?:js|css|svg)$/.test(name)) router.get(`/assets/${name}`, sendAsset(name));
  }
  router.get('/api/events', events.handle);
  router.post('/logout', (req, res) => {
    sessions.end(sessionOf(req) ?? '');
    res.set('Set-Cookie', sessionCookie(req, '')).status(204).end();
  });
  return router;
}

// A page of another site could otherwise use up an operator's attempts, or log a browser in.
const refuseOtherSites: RequestHandler = (req, res, next) => {
  if (isSameOrigin(req) === false)
    sendProblem(res, 'FORBIDDEN', 'Log in with the form of this gateway, not with that of another site.');
  else next();
};

function tokenIn(req: Request): string {
  const { token } = (req.body ?? {}) as { token?: unknown };
  return typeof token === 'string' ? token.trim() : '';
}

const uplot = createRequire(import.meta.url).resolve('uplot/dist/uPlot.iife.min.js');

/** Files of npm packages, by their name in the page. */
const packageAssets: Readonly<Record<string, string>> = {
  'uplot.js': uplot,
  'uplot.css': uplot.replace(/iife\.min\.js$/, 'min.css'),
};

function assetPath(name: string): string {
  return packageAssets[name] ?? fileURLToPath(assetFile(name));
}

/** Browsers may cache assets but must revalidate them: the gateway may have been updated. */
function sendAsset(name: string): RequestHandler {
  const file = assetPath(name);
  return (_req, res, next) => {
    res.sendFile(file, { cacheControl: false, headers: { 'Cache-Control': 'no-cache' } }, (error) => {
      // If the client disconnected there is nothing left to send.
      if (error && !res.headersSent && !res.destroyed) next(error);
    });
  };
}

const loginForm = readFileSync(assetPath('login.html'), 'utf8');

/** `message` is inserted without escaping. */
function sendLoginForm(res: Response, status: number, message: string): void {
  // With no-referrer a browser would send `Origin: null` with the form (Fetch §3.2), which `isSameOrigin` cannot use.
  res.set('Referrer-Policy', 'same-origin');
  res.status(status).type('html');
  res.send(loginForm.replace('<!-- message -->', message && `<p class="problem" role="alert">${message}</p>`));
}
