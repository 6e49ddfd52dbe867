import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/send.ts';
import type { Clock } from '../shared/clock.ts';
import { sameOrigin } from './dashboard/sameOrigin.ts';
import { sessionOf } from './dashboard/sessionCookie.ts';
import type { Sessions } from './dashboard/sessions.ts';
import { sameSecret } from './secret.ts';

/** What lets a request in: the token, a login with it, or where it comes from. */
export type Admits = (req: IncomingMessage) => 'token' | 'session' | 'machine' | undefined;

/**
 * Lets in who holds the token, and who calls from this machine by a loopback name.
 * The name counts because a web page can make a browser here call us by a name of its own that resolves to 127.0.0.1
 * (DNS rebinding); the address counts because anybody who reaches us from outside can claim `Host: localhost`.
 */
export function admission(live: { readonly current: Snapshot }, sessions: Sessions, clock: Clock): Admits {
  return (req) => {
    const { adminToken } = live.current.gateway;
    if (adminToken !== undefined && holds(req.headers.authorization, adminToken)) return 'token';
    const session = sessionOf(req);
    const logged =
      adminToken !== undefined && session !== undefined && sessions.holds(session, adminToken, clock.now());
    if (logged) return 'session';
    // With a token set, what a proxy on this machine passes on may come from anywhere.
    const passedOn = adminToken !== undefined && isPassedOn(req.headers);
    if (!passedOn && isLoopbackAddress(req.socket.remoteAddress) && isLoopbackHost(req.headers.host)) return 'machine';
    return undefined;
  };
}

/** Refuses whom `admits` does not let in; a browser is shown the way to the login, where there is one. */
export function guard(live: { readonly current: Snapshot }, admits: Admits): RequestHandler {
  return (req, res, next) => {
    const by = admits(req);
    if (by !== undefined && isOwn(req, by)) next();
    else if (by !== undefined) sendProblem(res, 'FORBIDDEN', 'Only a page of this very origin may change something.');
    else if (live.current.gateway.adminToken !== undefined && req.path === '/' && req.method === 'GET')
      res.redirect(303, '/login');
    else
      sendProblem(
        res,
        'FORBIDDEN',
        'Call from this machine by a loopback address, or send the admin token as a bearer token.',
      );
  };
}

// A browser adds a cookie, and the address of its machine, to what another site makes it send (CSRF); never a bearer.
function isOwn(req: IncomingMessage, by: 'token' | 'session' | 'machine'): boolean {
  if (by === 'token' || req.method === 'GET' || req.method === 'HEAD') return true;
  return sameOrigin(req) ?? by === 'machine';
}

/** Only a proxy says so. */
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

function holds(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  return given !== undefined && sameSecret(given, token);
}
