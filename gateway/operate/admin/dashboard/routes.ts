import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Snapshot } from '../../../config/snapshot.ts';
import { sendProblem } from '../../../problems/problem.ts';
import type { Clock } from '../../../shared/clock.ts';
import { assetFile } from '../../../shared/packageFiles.ts';
import { type AccessCheck, clientAddress, isSameOrigin, isSameSecret, type TokenAttempts } from '../guard.ts';
import { type Sessions, sessionCookie, sessionOf } from './sessions.ts';

/** `/login` and its style sheet and icon. Open to all clients and host names, but only while a token is set. */
export function loginRoutes(
  source: { readonly current: Snapshot },
  sessions: Sessions,
  attempts: TokenAttempts,
  clock: Clock,
): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  // `next('router')` leaves this router, so without a token there is no login.
  router.use((_req, _res, next) => next(source.current.gateway.adminToken === undefined ? 'router' : undefined));
  for (const name of ['style.css', 'icon.svg']) router.get(`/assets/${name}`, sendAsset(name));
  router.get('/login', (_req, res) => sendLoginForm(res, 200, ''));
  router.post('/login', refuseOtherSites, express.urlencoded({ extended: false, limit: '4kb' }), (req, res) => {
    const [address, now] = [clientAddress(req), clock.now()];
    const token = source.current.gateway.adminToken as string;
    if (!isSameSecret(tokenIn(req), token) || !attempts.acceptsRightToken(address, token, now)) {
      const waitSeconds = Math.ceil(attempts.waitMs(address, now) / 1_000);
      attempts.fail(address, now);
      if (waitSeconds > 0) res.set('Retry-After', String(waitSeconds));
      if (waitSeconds > 0) sendLoginForm(res, 429, `Too many attempts. Try again in ${waitSeconds} seconds.`);
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

/** Name in the page → path of a file of an npm package. */
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

const maxStreams = 32;
const pollIntervalMs = 1_000;
/** An unchanged status is repeated after this time, so that the page detects a dead connection. */
const repeatMs = 5_000;
/** Fields that every heartbeat of a fleet changes. A status that differs only in these counts as unchanged. */
const heartbeatTimes = new Set(['now', 'heard', 'clock_skew_ms']);
/** A client that does not read is disconnected at this many unread bytes. */
const maxUnreadBytes = 1_048_576;

interface WatchedGateway {
  status(): Promise<object>;
  /** False once the gateway drains. */
  ready(): boolean;
  /** How the request that opened a stream is admitted. Undefined: it is no longer admitted. */
  readonly accessOf: AccessCheck;
  readonly clock: Clock;
}

/** `GET /api/events`: the body of `/api/status` as server-sent events, whenever it changes. */
export class StatusEvents {
  readonly #gateway: WatchedGateway;
  /** The open streams, each with the request that opened it. */
  readonly #streams = new Map<Response, Request>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;
  /** True if a stream was opened since the last event. */
  #hasNewStream = false;
  /** The last status that was sent, without the fields in `heartbeatTimes`. */
  #lastStatus = '';
  #lastSentAt = 0;

  constructor(gateway: WatchedGateway) {
    this.#gateway = gateway;
  }

  readonly handle: RequestHandler = (req, res) => {
    // An image of another site could otherwise open streams up to the limit.
    if (req.headers['sec-fetch-site'] === 'cross-site') {
      sendProblem(res, 'FORBIDDEN', 'Event streams are only for pages of this origin.');
      return;
    }
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      res.set('Retry-After', '5');
      sendProblem(res, 'OVERLOADED', refusal);
      return;
    }
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    res.write(`event: access\ndata: ${this.#gateway.accessOf(req)}\n\n`);
    this.#streams.set(res, req);
    res.on('close', () => this.#remove(res));
    this.#timer ??= setInterval(() => void this.#poll(), pollIntervalMs).unref();
    this.#hasNewStream = true;
    void this.#poll();
  };

  #refusal(): string | undefined {
    if (!this.#gateway.ready()) return 'The gateway is starting or draining.';
    if (this.#streams.size >= maxStreams) return `There are ${maxStreams} streams already.`;
    return undefined;
  }

  async #poll(): Promise<void> {
    for (const [res, req] of this.#streams)
      if (!this.#gateway.ready() || this.#gateway.accessOf(req) === undefined) res.end();
    // One request for the status at a time, in case a worker is slow to answer.
    if (this.#isPolling) return;
    this.#isPolling = true;
    const hasNewStream = this.#hasNewStream;
    this.#hasNewStream = false;
    // Without a status no event is sent, and the page reports after a while that the gateway does not answer.
    const status = await this.#gateway.status().catch(() => undefined);
    this.#isPolling = false;
    const now = this.#gateway.clock.now();
    const statusWithoutTimes =
      JSON.stringify(status, (key, value) => (heartbeatTimes.has(key) ? undefined : value)) ?? '';
    const isDue =
      hasNewStream || statusWithoutTimes !== this.#lastStatus || Math.abs(now - this.#lastSentAt) >= repeatMs;
    if (isDue) [this.#lastStatus, this.#lastSentAt] = [statusWithoutTimes, now];
    this.#send(isDue && status ? `event: status\ndata: ${JSON.stringify(status)}\n\n` : ': nothing new\n\n');
  }

  #send(text: string): void {
    for (const res of this.#streams.keys()) {
      if (res.writableEnded) continue;
      if (res.writableLength > maxUnreadBytes) res.destroy();
      else res.write(text);
    }
  }

  #remove(res: Response): void {
    this.#streams.delete(res);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
