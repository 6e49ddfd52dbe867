import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Express, Request, RequestHandler } from 'express';
import type { Snapshot } from '../config/snapshot.ts';

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

/** The address that token attempts are counted for. A proxy may pass on any text as the client's address. */
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

const maxFailures = 5;
const windowMs = 60_000;
// Limits the memory that requests from many addresses can use.
const maxAddresses = 10_000;

/**
 * Limits how many wrong tokens an address may send per minute, in the login form or as a bearer. Above the limit the right
 * token is refused as well, since otherwise the limit would not stop guessing. An address that sent the right token before
 * is exempt: otherwise an attacker behind the same address could lock out a metrics scraper. Instants in epoch ms.
 */
export class TokenAttempts {
  /** The recent failures of each network. */
  readonly #failed = new Map<string, number[]>();
  /** The right token that each network sent last. The exemption ends when the token changes. */
  readonly #succeeded = new Map<string, string>();

  /** How long `address` must wait before its next attempt, ms; 0: no wait. */
  wait(address: string, now: number): number {
    const recent = this.#recent(address, now);
    const first = recent[recent.length - maxFailures];
    return first === undefined ? 0 : first + windowMs - now;
  }

  /** Whether the right `token` is accepted from `address` at `now`. The caller has compared it. */
  accepts(address: string, token: string, now: number): boolean {
    return this.#succeeded.get(hostNetworkOf(address)) === token || this.wait(address, now) === 0;
  }

  succeed(address: string, token: string): void {
    setNewest(this.#succeeded, hostNetworkOf(address), token);
  }

  /** Failures while the address has to wait do not extend the wait. */
  fail(address: string, now: number): void {
    if (this.wait(address, now) === 0)
      setNewest(this.#failed, hostNetworkOf(address), [...this.#recent(address, now), now]);
  }

  #recent(address: string, now: number): readonly number[] {
    return (this.#failed.get(hostNetworkOf(address)) ?? []).filter((at) => at > now - windowMs);
  }
}

/** Sets an entry. Removes the entry that was set the longest ago if there are too many. */
function setNewest<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size > maxAddresses) map.delete(oldest);
}

/** The /64 of an IPv6 address, because one host can use all of it (RFC 4291 §2.5.4). */
function hostNetworkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const [start, end] = [head, tail].map((part) => part.split(':').filter(Boolean)) as [string[], string[]];
  const zeros = Array<string>(Math.max(0, 8 - start.length - end.length)).fill('0');
  return [...start, ...zeros, ...end].slice(0, 4).join(':');
}
