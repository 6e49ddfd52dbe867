import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';

/** Where to connect. `host` is a name or an address without brackets; a name is resolved anew for each connection. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly tls: ConnectionOptions | undefined;
  /** Resolves `host` in the system's place. Where it gives several addresses, they are tried in turn. */
  readonly lookup?: LookupFunction;
}
