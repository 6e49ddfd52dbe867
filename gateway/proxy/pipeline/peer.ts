import { isIP, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Snapshot } from '../../config/snapshot.ts';
import { forwardingFieldsOf, type Peer } from '../forwarding/requestHead.ts';

/** The other end of a client connection, and whether its forwarding headers are trusted. */
export interface ClientPeer extends Peer {
  readonly trusted: boolean;
  /** Whether responses carry Strict-Transport-Security. Never over plain HTTP (RFC 6797 §7.2). */
  readonly hsts: boolean;
  /** The snapshot whose settings apply. */
  readonly snapshot: Snapshot;
}

// A property of the socket, because node:http has no other object for each connection.
const peerOnSocket = Symbol('peer');

interface SocketWithPeer extends Socket {
  [peerOnSocket]?: ClientPeer;
}

/** Computed once for each connection and snapshot. */
export function peerOf(socket: SocketWithPeer, snapshot: Snapshot): ClientPeer {
  const cached = socket[peerOnSocket];
  if (cached?.snapshot === snapshot) return cached;
  const address = plainAddress(socket.remoteAddress);
  const secure = 'encrypted' in socket;
  const endpoints = { address, scheme: secure ? ('https' as const) : ('http' as const), port: socket.localPort ?? 0 };
  const peer = {
    ...endpoints,
    forwardingFields: forwardingFieldsOf(endpoints),
    trusted: isTrusted(address, snapshot.gateway.trustedProxies),
    hsts: secure && snapshot.gateway.tls?.hsts === true,
    snapshot,
  };
  socket[peerOnSocket] = peer;
  return peer;
}

// Longer than any real chain of proxies. A client may send thousands of entries, and each costs a comparison.
const maxProxies = 32;

/**
 * The address of the client. `X-Forwarded-For` is read from the right, because each proxy appends the address that it saw:
 * the first address that is not a trusted proxy is the client's. Entries to its left are not trustworthy.
 */
export function clientAddressOf(peer: ClientPeer, forwardedFor: string | undefined): string {
  if (!peer.trusted || forwardedFor === undefined) return peer.address;
  const hops = forwardedFor.split(',');
  let { address } = peer;
  for (let at = hops.length - 1; at >= Math.max(0, hops.length - maxProxies); at -= 1) {
    const hop = addressIn(hops[at] as string);
    if (hop === undefined) break;
    address = hop;
    if (at > 0 && !isTrusted(hop, peer.snapshot.gateway.trustedProxies)) break;
  }
  return address;
}

/** An entry of `X-Forwarded-For`. Some proxies add the port, `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
function addressIn(entry: string): string | undefined {
  const text = entry.trim();
  const address = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(address) === 0 ? undefined : plainAddress(address);
}

/** `::ffff:192.0.2.1`, which a dual-stack socket reports, is 192.0.2.1. */
function plainAddress(address: string | undefined): string {
  // A socket has no address after the client has disconnected.
  if (address === undefined) return 'unknown';
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

function isTrusted(address: string, cidrs: readonly string[]): boolean {
  if (cidrs.length === 0 || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  return cidrs.some((cidr) => {
    const [range, bits] = ipaddr.parseCIDR(cidr);
    return range.kind() === parsed.kind() && parsed.match(range, bits);
  });
}
