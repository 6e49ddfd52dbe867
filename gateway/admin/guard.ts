import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/send.ts';

/**
 * Lets in who holds the token, and who calls from this machine by a loopback name.
 * The name counts because a web page can make a browser here call us by a name of its own that resolves to 127.0.0.1
 * (DNS rebinding); the address counts because anybody who reaches us from outside can claim `Host: localhost`.
 */
export function guard(live: { readonly current: Snapshot }): RequestHandler {
  return (req, res, next) => {
    const { adminToken } = live.current.gateway;
    const local = isLoopbackAddress(req.socket.remoteAddress) && isLoopbackHost(req.headers.host);
    if (local || (adminToken !== undefined && holds(req.headers.authorization, adminToken))) next();
    else
      sendProblem(
        res,
        'FORBIDDEN',
        'Call from this machine by a loopback address, or send the admin token as a bearer token.',
      );
  };
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
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

// Digests have one length, so that the comparison takes the same time whatever was sent.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
