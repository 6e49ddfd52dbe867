import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a host name. @throws when there are none, or nobody knows. */
export type Resolve = (name: string) => Promise<readonly Address[]>;

/** As the system does: /etc/hosts and DNS. */
export const systemResolve: Resolve = (name) => lookup(name, { all: true });

/** Whether a host is a name, whose addresses may change. */
export function isName(host: string): boolean {
  return isIP(host) === 0;
}
