import type { ConnectionOptions } from 'node:tls';
import type { UpstreamTls } from '../config/snapshot.ts';
import { ConnectionPool } from '../http1/connectionPool.ts';

/** One backend URL, with its connections and what it is busy with. */
export class Target {
  readonly url: string;
  /** What a request without a Host is given as Host. */
  readonly authority: string;
  readonly connections: ConnectionPool;
  inFlight = 0;

  /** `url` has a scheme and an authority only; `ca` is what `tls.ca` holds; `keepAlive` in ms. */
  constructor(url: string, tls: UpstreamTls, ca: Buffer | undefined, keepAlive: number) {
    const { protocol, hostname, port, host } = new URL(url);
    const secure = protocol === 'https:';
    const name = hostname.replace(/^\[|\]$/g, '');
    this.url = url;
    this.authority = host;
    this.connections = new ConnectionPool(
      { host: name, port: Number(port || (secure ? 443 : 80)), tls: secure ? tlsOptions(name, tls, ca) : undefined },
      keepAlive,
    );
  }
}

function tlsOptions(name: string, { servername, verify }: UpstreamTls, ca: Buffer | undefined): ConnectionOptions {
  return { servername: servername ?? name, rejectUnauthorized: verify, ...(ca === undefined ? {} : { ca }) };
}
