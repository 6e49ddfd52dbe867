import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { HealthSettings, UpstreamTls } from '../../config/snapshot.ts';
import type { Endpoint } from '../../http1/connection.ts';
import { ConnectionPool } from '../../http1/connectionPool.ts';
import type { TargetReport } from '../../usage/observability/report.ts';
import { type HealthChanges, TargetHealth } from './health.ts';
import { type Connections, isHostName, NamedConnections } from './namedConnections.ts';
import { type Resolve, systemResolve } from './nameResolution.ts';
import { Prober } from './prober.ts';

/** The state that all targets of a registry share. */
export interface TargetContext {
  readonly healthChanges: HealthChanges;
  readonly resolve: Resolve;
}

/** The same URL with other TLS settings is another target. `ca`: the content of the file `tls.ca`. */
export function targetKey(url: string, tls: UpstreamTls, ca: Buffer | undefined): string {
  return url.startsWith('https:') ? JSON.stringify([url, tls, ca?.toString('base64')]) : url;
}

/** One backend URL with its connections, health and number of requests in flight. */
export class Target {
  /** A target that was removed and added again has the same key. */
  readonly key: string;
  readonly url: string;
  /** The Host value for requests that have none. */
  readonly authority: string;
  readonly endpoint: Endpoint;
  readonly connections: Connections;
  readonly health: TargetHealth;
  inFlight = 0;
  readonly #named: NamedConnections | undefined;
  #prober: Prober | undefined;

  /** `url` consists of scheme and authority. `ca`: the content of the file `tls.ca`. `keepAlive` in ms. */
  constructor(
    url: string,
    tls: UpstreamTls,
    ca: Buffer | undefined,
    keepAlive: number,
    { healthChanges, resolve }: TargetContext = { healthChanges: { count: 0 }, resolve: systemResolve },
  ) {
    const { protocol, hostname, port, host } = new URL(url);
    const secure = protocol === 'https:';
    const bareHost = hostname.replace(/^\[|\]$/g, '');
    this.key = targetKey(url, tls, ca);
    this.url = url;
    this.authority = host;
    this.endpoint = {
      host: bareHost,
      port: Number(port || (secure ? 443 : 80)),
      tls: secure ? tlsOptions(bareHost, tls, ca) : undefined,
    };
    this.#named = isHostName(bareHost) ? new NamedConnections(this.endpoint, keepAlive, resolve) : undefined;
    this.connections = this.#named ?? new ConnectionPool(this.endpoint, keepAlive);
    this.health = new TargetHealth(healthChanges);
  }

  /** Where probes connect. For a host name, the addresses that requests use. */
  get probedEndpoint(): Endpoint {
    return this.#named?.freshEndpoint ?? this.endpoint;
  }

  /**
   * Called for each snapshot with this target: sets health thresholds, starts the DNS refresh, and starts probes if configured.
   * `isOnlyTarget`: the target is alone in each of its pools.
   */
  activate(settings: HealthSettings, isOnlyTarget: boolean): void {
    this.health.configure(settings, isOnlyTarget);
    this.#named?.startRefresh();
    if (settings.path !== undefined && this.#prober?.uses(settings)) return;
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
    const { ejections, lastError } = health;
    return { url, inFlight, connections: connections.size, ...health.observed(), ejections, lastError };
  }
}

function tlsOptions(host: string, { servername, verify }: UpstreamTls, ca: Buffer | undefined): ConnectionOptions {
  const certificateName = servername ?? host;
  // RFC 6066 §3: an IP address is not sent as server name. The certificate is still checked against the address.
  const sni = isIP(certificateName) === 0 ? { servername: certificateName } : {};
  return { ...sni, rejectUnauthorized: verify, ...(ca === undefined ? {} : { ca }) };
}
