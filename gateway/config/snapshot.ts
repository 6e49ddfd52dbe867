import type { PathTable } from '../shared/pathTable.ts';
import type { CompatSettings, GuardSettings, LogSettings, RetireSettings, UsageSettings } from './operating.ts';

/** A valid routes.yaml, expanded, defaulted and deeply frozen. A request keeps the one it began with. */
export interface Snapshot {
  /** Equal for two files that mean the same, whatever their comments, order or spelling. */
  readonly fingerprint: string;
  /** By path segment, `v1`. */
  readonly versions: ReadonlyMap<string, Version>;
  /** The same versions, lowest major first. */
  readonly byMajor: readonly Version[];
  readonly gateway: GatewaySettings;
  readonly guard: GuardSettings;
  readonly usage: UsageSettings;
  readonly retire: RetireSettings;
  readonly compat: CompatSettings;
  readonly log: LogSettings;
}

/** One major of the API. All instants are epoch milliseconds, all durations milliseconds, all sizes bytes. */
export interface Version {
  /** The path segment: `v1`. */
  readonly name: string;
  readonly major: number;
  readonly prefix: 'strip' | 'forward';
  /** Empty only for a tombstone. */
  readonly targets: readonly TargetSettings[];
  readonly deprecation: number | undefined;
  readonly sunset: number | undefined;
  readonly afterSunset: 'serve' | 'gone';
  /** A tombstone, answered 410. */
  readonly retired: boolean;
  /** The `successor` of the file as a segment (`v2`); undefined leaves the choice to the lifecycle. */
  readonly successor: string | undefined;
  /** The page for people about this version's end. */
  readonly info: string | undefined;
  /** Whether the guide to its successor is served. */
  readonly guide: boolean;
  /** Renamed routes: template of this major → template of its successor, or null where there is no counterpart. */
  readonly moved: PathTable<string | null>;
  readonly contract: Contract | undefined;
  readonly timeouts: UpstreamTimeouts;
  readonly limits: Limits;
  readonly retries: Retries;
  readonly health: Health;
  readonly balance: Balance;
  readonly tls: UpstreamTls;
}

export interface TargetSettings {
  /** Normalised: scheme and authority only, no trailing slash: `http://127.0.0.1:3001`. */
  readonly url: string;
  readonly weight: number;
}

export interface Contract {
  /** Absolute path of the OpenAPI document. */
  readonly file: string;
  /** False hides it from `/contracts/`. */
  readonly publish: boolean;
  /** Of its content. */
  readonly digest: string;
  /** The document's `paths`, without its version prefix: a hit means that the route exists. */
  readonly paths: PathTable<true>;
}

/** 0 means off, for every one of them. */
export interface UpstreamTimeouts {
  readonly connect: number;
  readonly firstByte: number;
  readonly idle: number;
  readonly streamIdle: number;
  readonly writeIdle: number;
  readonly keepAlive: number;
}

export interface Limits {
  readonly body: number;
  readonly inFlight: number;
  readonly inFlightPerTarget: number;
  readonly queue: number;
}

export interface Retries {
  /** In all, the first one included. */
  readonly attempts: number;
  /** A share of requests, 0 to 1. */
  readonly budget: number;
  /** Retries per second that the budget always grants. */
  readonly budgetMin: number;
}

export interface Health {
  readonly path: string | undefined;
  readonly interval: number;
  readonly timeout: number;
  readonly healthyAfter: number;
  readonly unhealthyAfter: number;
  readonly passiveFailures: number;
  readonly eject: number;
  readonly onNoneHealthy: 'try' | 'refuse';
}

export type Balance = 'round_robin' | 'least_requests' | 'random';

export interface UpstreamTls {
  /** Absolute path of a PEM file. */
  readonly ca: string | undefined;
  readonly servername: string | undefined;
  readonly verify: boolean;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface GatewaySettings {
  readonly listen: HostPort;
  readonly admin: HostPort;
  readonly adminToken: string | undefined;
  /** `open`: calls from this machine need no token. Without a token it means nothing. */
  readonly adminLoopback: 'token' | 'open';
  /** '' for `/`, else `/api` without a trailing slash. */
  readonly basePath: string;
  /** An origin, `https://api.example.com`, or undefined. */
  readonly publicUrl: string | undefined;
  /** CIDRs, with `loopback` and `private` spelled out; empty: nobody is trusted. */
  readonly trustedProxies: readonly string[];
  readonly workers: number | 'auto';
  /** 0: an unresponsive worker is not replaced. */
  readonly workerTimeout: number;
  readonly drain: number;
  /** Towards clients; 0 means off. */
  readonly timeouts: { readonly head: number; readonly bodyIdle: number; readonly keepAlive: number };
  readonly limits: { readonly head: number; readonly url: number };
  readonly tls: { readonly cert: string; readonly key: string; readonly hsts: boolean } | undefined;
}
