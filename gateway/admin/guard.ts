import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/problem.ts';
import type { Clock } from '../shared/clock.ts';
import type { Attempts } from './attempts.ts';
import { clientAddress } from './clientAddress.ts';
import { sameOrigin } from './dashboard/sameOrigin.ts';
import { sessionOf } from './dashboard/sessionCookie.ts';
import type { Sessions } from './dashboard/sessions.ts';
import { sameSecret } from './secret.ts';

/** What lets a request in: the token, a login with it, or where it comes from. */
export type Admits = (req: Request) => 'token' | 'session' | 'machine' | undefined;

/**
 * Lets in who holds the token. Where there is none, or `admin_loopback` is open, also who calls from this machine by a
 * loopback name. The name counts because a web page can make a browser here call us by a name of its own that resolves to
 * 127.0.0.1 (DNS rebinding); the address counts because anybody who reaches us from outside can claim `Host: localhost`.
 * Neither tells a proxy on this machine that sends the upstream's name as Host: so a token, once set, is asked of everybody.
 */
export function admission(
  live: { readonly current: Snapshot },
  sessions: Sessions,
  attempts: Attempts,
  clock: Clock,
): Admits {
  return (req) => {
    const { adminToken, adminLoopback } = live.current.gateway;
    const given = bearer(req);
    if (adminToken !== undefined && given !== undefined && sameSecret(given, adminToken)) {
      if (attempts.believes(clientAddress(req), adminToken, clock.now())) return 'token';
    }
    const session = sessionOf(req);
    const logged =
      adminToken !== undefined && session !== undefined && sessions.holds(session, adminToken, clock.now());
    if (logged) return 'session';
    const here = adminToken === undefined || adminLoopback === 'open';
    if (here && isFromHere(req)) return 'machine';
    return undefined;
  };
}

/** Refuses whom `admits` does not let in; a browser is shown the way to the login, where there is one. */
export function guard(
  live: { readonly current: Snapshot },
  admits: Admits,
  attempts: Attempts,
  clock: Clock,
): RequestHandler {
  return (req, res, next) => {
    const by = admits(req);
    const { adminToken } = live.current.gateway;
    if (by === 'token') attempts.succeed(clientAddress(req), adminToken as string);
    if (by !== undefined && isOwn(req, by)) next();
    else if (by !== undefined) sendProblem(res, 'FORBIDDEN', 'Only a page of this very origin may change something.');
    else if (adminToken !== undefined && bearer(req) !== undefined) refuseToken(req, res, attempts, clock.now());
    else if (adminToken !== undefined && req.path === '/' && req.method === 'GET') res.redirect(303, '/login');
    else sendProblem(res, 'FORBIDDEN', adminToken === undefined ? callFromHere : sendToken);
  };
}

const sendToken = 'Send gateway.admin_token as a bearer token.';
const callFromHere =
  'Call from this machine by a loopback name, not through a proxy. For calls from elsewhere set gateway.admin_token.';

/** Two Host fields are read differently by a proxy and by us (RFC 9112 §3.2). */
export const oneHost: RequestHandler = ({ rawHeaders }, res, next) => {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1) sendProblem(res, 'BAD_REQUEST', 'A request has exactly one Host field.');
  else next();
};

function refuseToken(req: Request, res: Response, attempts: Attempts, now: number): void {
  const address = clientAddress(req);
  const wait = Math.ceil(attempts.wait(address, now) / 1_000);
  attempts.fail(address, now);
  if (wait === 0) {
    sendProblem(res, 'FORBIDDEN', sendToken);
    return;
  }
  res.set('Retry-After', String(wait));
  sendProblem(res, 'TOO_MANY_ATTEMPTS', `Too many wrong tokens came from your address. Try again in ${wait} seconds.`);
}

// A browser adds a cookie, and the address of its machine, to what another site makes it send (CSRF); never a bearer.
function isOwn(req: IncomingMessage, by: 'token' | 'session' | 'machine'): boolean {
  if (by === 'token' || req.method === 'GET' || req.method === 'HEAD') return true;
  return sameOrigin(req) ?? by === 'machine';
}

function isFromHere({ headers, socket }: IncomingMessage): boolean {
  return !isPassedOn(headers) && isLoopbackAddress(socket.remoteAddress) && isLoopbackHost(headers.host);
}

/** Only a proxy adds these, and not every proxy does. */
function isPassedOn(headers: IncomingHttpHeaders): boolean {
  return ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'].some((name) => name in headers);
}

/** Whether a Host field names this machine by loopback: `localhost`, 127.0.0.0/8 or `[::1]`, with any port. */
export function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i.test(host);
}

function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/i.test(address);
}

function bearer({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}
