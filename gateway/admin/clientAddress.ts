import { isIP } from 'node:net';
import type { Express, Request, RequestHandler } from 'express';
import type { Snapshot } from '../config/snapshot.ts';

/** Lets Express read from X-Forwarded-For what `trusted_proxies` of this moment believe; a reload may change them. */
export function believeProxies(app: Express, live: { readonly current: Snapshot }): RequestHandler {
  let believed: Snapshot | undefined;
  return (_req, _res, next) => {
    const { current } = live;
    if (current !== believed) app.set('trust proxy', [...current.gateway.trustedProxies]);
    believed = current;
    next();
  };
}

/** Whom the attempts of a call count for. A proxy may pass on any text as an address, and of any length. */
export function clientAddress({ ip, socket }: Request): string {
  return ip !== undefined && isIP(ip) > 0 ? ip : (socket.remoteAddress ?? '');
}
