import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { HealthSettings, UpstreamTls } from '../config/snapshot.ts';
import { ConnectionPool } from '../http1/connectionPool.ts';
import type { Endpoint } from '../http1/socket.ts';
import type { TargetReport } from '../observability/report.ts';
import type { Changes } from './changes.ts';
import type { Connections } from './connections.ts';
import { Health } from './health.ts';
import { NamedConnections } from './namedConnections.ts';
import { Prober } from './prober.ts';
import { isName, type Resolve, systemResolve } from './resolver.ts';

/** What a target shares with the others of its registry. */
export interface Surroundings {
  readonly changes: Changes;
  readonly resolve: Resolve;
}

/** One backend URL, with its connections, its health and what it is busy with. */
export class Target {
  readonly url: string;
  /** What a request without a Host is given as Host. */
  readonly authority: string;
  readonly endpoint: Endpoint;
  readonly connections: Connections;
  readonly health: Health;
  inFlight = 0;
  readonly #named: NamedConnections | undefined;
  #prober: Prober | undefined;

  /** `url` has a scheme and an authority only; `ca` is what `tls.ca` holds; `keepAlive` in ms. */
  constructor(
    url: string,
    tls: UpstreamTls,
    ca: Buffer | undefined,
    keepAlive: number,
    { changes, resolve }: Surroundings = { changes: { count: 0 }, resolve: systemResolve },
  ) {
    const { protocol, hostname, port, host } = new URL(url);
    const secure = protocol === 'https:';
    const name = hostname.replace(/^\[|\]$/g, '');
    this.url = url;
    this.authority = host;
    this.endpoint = {
      host: name,
      port: Number(port || (secure ? 443 : 80)),
      tls: secure ? tlsOptions(name, tls, ca) : undefined,
    };
    this.#named = isName(name) ? new NamedConnections(this.endpoint, keepAlive, resolve) : undefined;
    this.connections = this.#named ?? new ConnectionPool(this.endpoint, keepAlive);
    this.health = new Health(changes);
  }

  /** Where a probe is to connect: a name means the addresses that requests go to. */
  get probedEndpoint(): Endpoint {
    const lookup = this.#named?.lookupFrom();
    return lookup === undefined ? this.endpoint : { ...this.endpoint, lookup };
  }

  /** A snapshot names it, until `close`: its name is followed, and it is probed if `settings` say so. */
  engage(settings: HealthSettings, alone: boolean): void {
    this.health.configure(settings, alone);
    this.#named?.follow();
    if (settings.path !== undefined && this.#prober?.does(settings)) return;
    this.#prober?.stop();
    this.#prober = settings.path === undefined ? undefined : new Prober(this, settings);
    if (this.#prober) this.#prober.start();
    else this.health.forgetProbes();
  }

  close(): void {
    this.#prober?.stop();
    this.health.close();
    this.connections.close();
  }

  report(): TargetReport {
    const { url, inFlight, connections, health } = this;
    const { state, reachable, ejectedUntil, ejections, lastError } = health;
    return {
      url,
      inFlight,
      connections: connections.size,
      reachable,
      health: state,
      ejectedUntil,
      ejections,
      lastError,
    };
  }
}

function tlsOptions(name: string, { servername, verify }: UpstreamTls, ca: Buffer | undefined): ConnectionOptions {
  const asked = servername ?? name;
  // RFC 6066 §3: an address is no server name; the certificate is held against it all the same.
  const sni = isIP(asked) === 0 ? { servername: asked } : {};
  return { ...sni, rejectUnauthorized: verify, ...(ca === undefined ? {} : { ca }) };
}
