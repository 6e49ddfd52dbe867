import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { GatewaySettings, HostPort } from '../../config/snapshot.ts';
import type { Resolve } from '../upstream/nameResolution.ts';

/** A listener of this gateway, with the key that configures its address. `port`: the bound one. */
export interface OwnListener extends HostPort {
  readonly key: 'gateway.listen' | 'gateway.admin';
}

/** The listeners with their bound ports. */
export function ownListeners(
  { listen, admin }: Pick<GatewaySettings, 'listen' | 'admin'>,
  port: number,
  adminPort: number,
): readonly OwnListener[] {
  return [
    { ...listen, port, key: 'gateway.listen' },
    { ...admin, port: adminPort, key: 'gateway.admin' },
  ];
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** The listener of this gateway to which a connection to `host` and `port` leads; undefined: none, or the name is unknown. */
export async function ownListenerAt(
  { host, port }: HostPort,
  listeners: readonly OwnListener[],
  resolve: Resolve,
): Promise<OwnListener | undefined> {
  const candidates = listeners.filter((listener) => listener.port === port);
  if (candidates.length === 0) return undefined;
  const addresses = await addressesOf(host, resolve);
  for (const listener of candidates) {
    const bound = await addressesOf(listener.host, resolve);
    const isReached = (address: string): boolean =>
      bound.some((own) => (isUnspecified(own) ? isLocal(address) : own === asConnected(address)));
    if (addresses.some(isReached)) return listener;
  }
  return undefined;
}

async function addressesOf(host: string, resolve: Resolve): Promise<readonly string[]> {
  const bare = host.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0) return [bare];
  try {
    return (await resolve(bare)).map(({ address }) => address);
  } catch {
    return [];
  }
}

function isUnspecified(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** A connection to the unspecified address reaches this machine. */
function asConnected(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  return address === '::' ? '::1' : address;
}

/** Whether the address is one of this machine. */
function isLocal(address: string): boolean {
  if (isUnspecified(address) || loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) return true;
  return Object.values(networkInterfaces()).some((own) => own?.some((one) => one.address === address));
}
