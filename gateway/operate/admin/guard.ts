import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Express, Request, RequestHandler, Response } from 'express';
import type { Snapshot } from '../../config/snapshot.ts';
import { sendProblem } from '../../problems/problem.ts';
import type { Clock } from '../../shared/clock.ts';
import { type Sessions, sessionOf } from './dashboard/sessions.ts';

/** Why a request to the admin listener is admitted: it has the token or a login session, or comes from this machine. Undefined: it is refused. */
export type AccessCheck = (req: Request) => 'token' | 'session' | 'machine' | undefined;

/**
 * Admits requests with the token. If no token is set, or `admin_loopback` is open, it also admits requests from this machine
 * to a loopback name. The name is checked because an attacker's web page can make a browser on this machine send requests to a
 * name of the attacker that resolves to 127.0.0.1 (DNS rebinding). The address is checked because anyone can send
 * `Host: localhost`.
 * Neither check detects a proxy on this machine that sends a loopback name as Host. So if a token is set, every request
 * needs it, unless `admin_loopback` is open.
 */
export function accessCheck(
  source: { readonly current: Snapshot },
  sessions: Sessions,
  attempts: TokenAttempts,
  clock: Clock,
): AccessCheck {
  return (req) => {
    const { adminToken, adminLoopback } = source.current.gateway;
    const givenToken = bearerToken(req);
    if (adminToken !== undefined && givenToken !== undefined && isSameSecret(givenToken, adminToken)) {
      if (attempts.acceptsRightToken(clientAddress(req), adminToken, clock.now())) return 'token';
    }
    const session = sessionOf(req);
    const isLoggedIn =
      adminToken !== undefined && session !== undefined && sessions.isValid(session, adminToken, clock.now());
    if (isLoggedIn) return 'session';
    const isLoopbackOpen = adminToken === undefined || adminLoopback === 'open';
    if (isLoopbackOpen && isFromThisMachine(req)) return 'machine';
    return undefined;
  };
}

/** Refuses requests that `accessOf` does not admit. Redirects a browser to the login form if a token is set. */
export function requireAccess(
  source: { readonly current: Snapshot },
  accessOf: AccessCheck,
  attempts: TokenAttempts,
  clock: Clock,
): RequestHandler {
  return (req, res, next) => {
    const admittedBy = accessOf(req);
    const { adminToken } = source.current.gateway;
    if (admittedBy === 'token') attempts.succeed(clientAddress(req), adminToken as string);
    if (admittedBy !== undefined && isSafeFromCsrf(req, admittedBy)) next();
    else if (admittedBy !== undefined)
      sendProblem(res, 'FORBIDDEN', 'A browser may send this request only from the dashboard.');
    else if (adminToken !== undefined && bearerToken(req) !== undefined) refuseToken(req, res, attempts, clock.now());
    else if (adminToken !== undefined && req.path === '/' && req.method === 'GET') res.redirect(303, '/login');
    else sendProblem(res, 'FORBIDDEN', adminToken === undefined ? callFromThisMachineDetail : sendTokenDetail);
  };
}

const sendTokenDetail = 'Send gateway.admin_token as a bearer token.';
const callFromThisMachineDetail =
  'Call from this machine by a loopback name, not through a proxy. To call from other machines, set gateway.admin_token.';

/** Refuses a second Host field: a proxy and this gateway might each use a different one (RFC 9112 §3.2). */
export const refuseSecondHostField: RequestHandler = ({ rawHeaders }, res, next) => {
  // Names and values alternate in rawHeaders.
  const hostCount = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hostCount > 1) sendProblem(res, 'BAD_REQUEST', 'A request has exactly one Host field.');
  else next();
};

/** Requires JSON: a form on another site can send a POST, but not with this type (CSRF). */
export const requireJson: RequestHandler = (req, res, next) => {
  // Not req.is(), which is false for a request without a body.
  if (/^application\/json\s*(?:;|$)/i.test(req.get('content-type') ?? '')) next();
  else
    sendProblem(
      res,
      'UNSUPPORTED_MEDIA_TYPE',
      'Send the request with Content-Type: application/json; the body may be {}.',
    );
};

function refuseToken(req: Request, res: Response, attempts: TokenAttempts, now: number): void {
  const address = clientAddress(req);
  const waitSeconds = Math.ceil(attempts.waitMs(address, now) / 1_000);
  attempts.fail(address, now);
  if (waitSeconds === 0) {
    sendProblem(res, 'FORBIDDEN', sendTokenDetail);
    return;
  }
  res.set('Retry-After', String(waitSeconds));
  sendProblem(
    res,
    'TOO_MANY_ATTEMPTS',
    `Too many wrong tokens came from your address. Try again in ${waitSeconds} seconds.`,
  );
}

// A page of another site can make a browser send a request with the session cookie and from this machine (CSRF), but never
// with a bearer token.
function isSafeFromCsrf(req: IncomingMessage, admittedBy: 'token' | 'session' | 'machine'): boolean {
  if (admittedBy === 'token' || req.method === 'GET' || req.method === 'HEAD') return true;
  const isReportedSameOrigin = isSameOrigin(req);
  if (isReportedSameOrigin !== undefined) return isReportedSameOrigin;
  // No browser has sent the request, but a program such as curl. A program has no session.
  return admittedBy === 'machine';
}

function isFromThisMachine({ headers, socket }: IncomingMessage): boolean {
  return !isProxied(headers) && isLoopbackAddress(socket.remoteAddress) && isLoopbackHost(headers.host);
}

/** Only proxies add these fields, but not every proxy adds them. */
function isProxied(headers: IncomingHttpHeaders): boolean {
  return ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'].some((name) => name in headers);
}

/** Whether a Host field is a loopback name: `localhost`, 127.0.0.0/8 or `[::1]`, with any port. */
export function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i.test(host);
}

function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/i.test(address);
}

function bearerToken({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** Makes Express apply the current `trusted_proxies` to X-Forwarded-For. A reload may change them. */
export function trustProxies(app: Express, source: { readonly current: Snapshot }): RequestHandler {
  let applied: Snapshot | undefined;
  return (_req, _res, next) => {
    const { current } = source;
    if (current !== applied) app.set('trust proxy', [...current.gateway.trustedProxies]);
    applied = current;
    next();
  };
}

/** The address that token attempts are counted for. A proxy may pass on any text as the client's address, so it is validated. */
export function clientAddress({ ip, socket }: Request): string {
  return ip !== undefined && isIP(ip) > 0 ? ip : (socket.remoteAddress ?? '');
}

/**
 * Whether a browser reports that a page of this origin sent the request; undefined: there is no such report. Browsers send
 * Sec-Fetch-Site to https and loopback only, but Origin with every POST.
 */
export function isSameOrigin({ headers }: IncomingMessage): boolean | undefined {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  if (headers.origin === undefined) return undefined;
  return headers.origin.replace(/^https?:\/\//, '') === headers.host;
}

/** Compares in constant time. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(digest(given), digest(secret));
}

// `timingSafeEqual` requires equal lengths, which digests have.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

// An address that has sent this many wrong tokens within this time must wait.
const maxFailures = 5;
const failureWindowMs = 60_000;
// Limits the memory that requests from many addresses can use.
const maxAddresses = 10_000;

/**
 * Limits how many wrong tokens an address may send per minute, in the login form or as a bearer token. Above the limit the
 * right token is also refused. Otherwise the limit would not stop an attacker from guessing. An address that sent the right token
 * before is exempt. Otherwise an attacker behind the same address could lock out a metrics scraper. Instants in epoch ms.
 */
export class TokenAttempts {
  /** The network of a host → the instants of its recent wrong tokens. */
  readonly #failed = new Map<string, number[]>();
  /** Network → the right token that it sent last. The exemption ends when the token changes. */
  readonly #succeeded = new Map<string, string>();

  /** How long `address` must wait before its next attempt; 0: no wait. */
  waitMs(address: string, now: number): number {
    const recent = this.#recent(address, now);
    // With fewer failures than `maxFailures` in the window, there is no wait.
    const firstOfTooMany = recent[recent.length - maxFailures];
    return firstOfTooMany === undefined ? 0 : firstOfTooMany + failureWindowMs - now;
  }

  /** Whether the right `token` is accepted from `address`. An address that sent this token before never has to wait. */
  acceptsRightToken(address: string, token: string, now: number): boolean {
    return this.#succeeded.get(hostNetworkOf(address)) === token || this.waitMs(address, now) === 0;
  }

  succeed(address: string, token: string): void {
    setNewest(this.#succeeded, hostNetworkOf(address), token);
  }

  /** Failures while the address has to wait do not extend the wait. */
  fail(address: string, now: number): void {
    if (this.waitMs(address, now) === 0)
      setNewest(this.#failed, hostNetworkOf(address), [...this.#recent(address, now), now]);
  }

  #recent(address: string, now: number): readonly number[] {
    return (this.#failed.get(hostNetworkOf(address)) ?? []).filter((at) => at > now - failureWindowMs);
  }
}

/** Sets an entry. Removes the entry that was set the longest ago if there are too many. */
function setNewest<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size > maxAddresses) map.delete(oldest);
}

/** The /64 of an IPv6 address, because one host can use all of it (RFC 4291 §2.5.4). An IPv4 address is returned as it is. */
function hostNetworkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  // `::` stands for the groups of zeros that are missing from eight groups.
  const [start, end] = [head, tail].map((part) => part.split(':').filter(Boolean)) as [string[], string[]];
  const zeros = Array<string>(Math.max(0, 8 - start.length - end.length)).fill('0');
  return [...start, ...zeros, ...end].slice(0, 4).join(':');
}
