import type { PathTable } from '../shared/pathTable.ts';
import type { AdapterSettings } from './adapterSettings.ts';
import type { Apis } from './api.ts';
import type { BrownoutWindow, FreezeSettings, Waiver } from './clientRules.ts';
import type { DriftSettings, ShadowSettings } from './shadowSettings.ts';
import type { WrittenValues } from './writtenValues.ts';

/** A valid routes.yaml with variables expanded and defaults filled in, deeply frozen. A request keeps the snapshot of its start. */
export interface Snapshot {
  /** Equal for two files with the same settings, even if their comments, order or notation differ. */
  readonly fingerprint: string;
  /** When routes.yaml or a file that it names was last changed; without files, when it was loaded. Epoch ms, not in the future. */
  readonly filesChangedAt: number;
  /** To name the lines that an edit changed. Undefined in worker processes. */
  readonly written?: WrittenValues | undefined;
  /** The id (`v1`, `orders/v1`) → the version. */
  readonly versions: ReadonlyMap<string, Version>;
  /** The same versions in the order of `compareIds`: API by API, lowest major first. */
  readonly sortedVersions: readonly Version[];
  readonly apis: Apis;
  readonly gateway: GatewaySettings;
  readonly usage: UsageSettings;
  readonly log: LogSettings;
  /** Undefined: this gateway is not part of a fleet. */
  readonly fleet: FleetSettings | undefined;
  /** Undefined: nothing is exported. */
  readonly telemetry: TelemetrySettings | undefined;
}

/** One major of an API. All instants are epoch milliseconds, all durations milliseconds, all sizes bytes. */
export interface Version {
  /** The id: its path below `gateway.base_path` without the first slash, such as `v1`. See `api.ts`. */
  readonly name: string;
  readonly major: number;
  readonly prefix: 'strip' | 'forward';
  /** May be empty for a tombstone, for a version that an adapter serves, and in an application that answers requests itself. */
  readonly targets: readonly TargetSettings[];
  readonly deprecation: number | undefined;
  readonly sunset: number | undefined;
  readonly afterSunset: 'serve' | 'gone';
  /** A tombstone: requests are answered 410. */
  readonly retired: boolean;
  /** The id of the configured `successor`; undefined: the next higher major of the API that is not retired. */
  readonly successor: string | undefined;
  /** The URL of a page about the end of this version. */
  readonly info: string | undefined;
  /** Whether the migration guide to the successor is served. */
  readonly guide: boolean;
  /** Renamed routes: template of this major → template of its successor, or null for a route without a counterpart. */
  readonly moved: PathTable<string | null>;
  /** Single routes whose end is announced, even if the version itself is active. */
  readonly ends: readonly RouteEnd[];
  /** In the order of their starts. */
  readonly brownouts: readonly BrownoutWindow[];
  readonly freeze: FreezeSettings | undefined;
  readonly waivers: readonly Waiver[];
  /** Undefined: no request is copied to another version. */
  readonly shadow: ShadowSettings | undefined;
  /** Undefined: responses are not compared with the contract of the version. */
  readonly drift: DriftSettings | undefined;
  readonly contract: Contract | undefined;
  /** Undefined: off. `plan`: a `GreasePlan` as JSON, undefined until `withGreasePlans` adds it. */
  readonly grease: { readonly plan: string | undefined } | undefined;
  /** Undefined: requests and responses are not adapted. */
  readonly adapter: AdapterSettings | undefined;
  readonly timeouts: UpstreamTimeouts;
  readonly limits: UpstreamLimits;
  readonly retries: RetrySettings;
  readonly health: HealthSettings;
  readonly balance: Balance;
  readonly tls: UpstreamTls;
}

export interface TargetSettings {
  /** Normalized: scheme and authority only, no trailing slash: `http://127.0.0.1:3001`. */
  readonly url: string;
  readonly weight: number;
}

export interface Contract {
  /** Absolute path of the OpenAPI document. */
  readonly file: string;
  /** Whether the contract is served under `/contracts/`. */
  readonly publish: boolean;
  /** SHA-256 of the content; of several files, that of their digests. */
  readonly digest: string;
  /** All local files of the contract, `file` first, each with the SHA-256 of its content; '' if there is no such file. */
  readonly files: readonly (readonly [file: string, digest: string])[];
  /** The `paths` of the document without the version prefix, each with its methods: `GET POST`. */
  readonly paths: PathTable<string>;
  readonly isSwagger: boolean;
  /** The header parameters of all operations, in lower case. */
  readonly headers: readonly string[];
  readonly ends: readonly ContractEnd[];
}

/** Why a file cannot be used as a contract. */
export interface UnusableContract {
  readonly problem: string;
  readonly remedy: string;
}

export function isUnusable(value: unknown): value is UnusableContract {
  return typeof value === 'object' && value !== null && 'problem' in value && 'remedy' in value;
}

/** The methods of a path item in OpenAPI. */
export const contractMethods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;

/** The keys of an operation that say when it is deprecated and when it ends. */
export const endDateKeys = ['x-deprecated-since', 'x-sunset'] as const;

/** Dates in epoch ms. `path`: a template without the version prefix. */
export interface RouteEnd {
  readonly method: string;
  readonly path: string;
  readonly deprecation: number;
  readonly sunset: number | undefined;
}

/** The end of an operation as written in the contract, before any check. `problem`: why a date cannot be parsed. */
export interface ContractEnd extends Pick<RouteEnd, 'method' | 'path' | 'sunset'> {
  readonly deprecation: number | undefined;
  readonly problem: string | undefined;
}

/** In ms; 0 means off. */
export interface UpstreamTimeouts {
  readonly connect: number;
  readonly firstByte: number;
  readonly idle: number;
  readonly streamIdle: number;
  readonly writeIdle: number;
  readonly keepAlive: number;
}

export interface UpstreamLimits {
  readonly body: number;
  readonly inFlight: number;
  readonly inFlightPerTarget: number;
  readonly queue: number;
}

export interface RetrySettings {
  /** The number of attempts, including the first. */
  readonly attempts: number;
  /** A share of requests, 0 to 1. */
  readonly budget: number;
  /** Retries per second that are allowed in addition to the budget. */
  readonly budgetMin: number;
}

export interface HealthSettings {
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
  /** `open`: calls from this machine need no token. Only used with `adminToken`. */
  readonly adminLoopback: 'token' | 'open';
  /** Without a trailing slash: `/api`, or '' for `/`. */
  readonly basePath: string;
  /** An origin, `https://api.example.com`, or undefined. */
  readonly publicUrl: string | undefined;
  /** CIDRs; `loopback` and `private` are replaced by their networks. Empty: no proxy is trusted. */
  readonly trustedProxies: readonly string[];
  readonly workers: number | 'auto';
  /** In ms. 0: an unresponsive worker is not replaced. */
  readonly workerTimeout: number;
  readonly drain: number;
  /** `off`: node:http reads all requests. */
  readonly fastLane: 'auto' | 'off';
  /** `on`: a client with a secret key sees its own calls at `/versions/me`. */
  readonly selfService: 'on' | 'off';
  /** Whether clients with TLS can use HTTP/2. */
  readonly http2: 'auto' | 'off';
  /** Whether clients without TLS can use HTTP/2. */
  readonly h2c: 'on' | 'off';
  /** For connections of clients, in ms; 0 means off. */
  readonly timeouts: { readonly head: number; readonly bodyIdle: number; readonly keepAlive: number };
  readonly limits: { readonly head: number; readonly url: number };
  readonly tls: { readonly cert: string; readonly key: string; readonly hsts: boolean } | undefined;
}

// In the settings below, durations are in ms and instants in epoch ms.

export interface UsageSettings {
  readonly identify: readonly Identifier[];
  /** Absolute path of the ledger. */
  readonly store: string;
  readonly retention: number;
  readonly maxClients: number;
  readonly maxRoutes: number;
  /** Absolute path of the file that names clients, if any. */
  readonly names: string | undefined;
  /** The key that tags of clients are hashed with. Undefined: the ledger has a random salt. */
  readonly tagKey: string | undefined;
}

/** Where a request carries the identity of its client. Header names are in lower case. */
export type Identifier =
  | { readonly by: 'header'; readonly name: string }
  | { readonly by: 'jwt'; readonly claim: string }
  | { readonly by: 'user-agent' | 'address' };

/** The access log. */
export interface LogSettings {
  /** `file`: an absolute path. */
  readonly access: 'off' | 'stdout' | 'stderr' | { readonly file: string };
  readonly format: 'auto' | 'json' | 'pretty';
  /** The share of successful exchanges that is logged, 0 to 1. */
  readonly sample: number;
  /** How much of a client's address is logged; a network is a /24 or a /48. */
  readonly address: 'full' | 'network' | 'none';
  readonly query: boolean;
  /** Names of query and path parameters, in lower case. */
  readonly redact: readonly string[];
}

/** Several gateways that share one ledger. */
export interface FleetSettings {
  /** A postgres:// URL. It may contain a password. */
  readonly store: string;
  /** Absolute path of a file with the password, if any. */
  readonly passwordFile: string | undefined;
  /** The name of this gateway, unique in the fleet. */
  readonly name: string;
  readonly heartbeat: number;
  readonly silentAfter: number;
  /** What the gateway does if it cannot reach the store when it starts. `wait`: it serves no clients until it has reached it. */
  readonly start: 'wait' | 'serve';
  /** The DNS name that resolves to all gateways that should run, and their admin port. */
  readonly members: HostPort | undefined;
  /** Bytes. */
  readonly spool: number;
}

/** Export to an OpenTelemetry collector. */
export interface TelemetrySettings {
  /** The URL without a trailing slash; `/v1/traces` is appended. */
  readonly otlp: string;
  /** The share of new traces that are recorded, 0 to 1. */
  readonly sample: number;
  readonly metrics: boolean;
}

/** The snapshot with some versions replaced. `changed`: the new versions by name. */
export function withVersions(snapshot: Snapshot, changed: ReadonlyMap<string, Version>): Snapshot {
  const sortedVersions = snapshot.sortedVersions.map((version) => changed.get(version.name) ?? version);
  return deepFreeze({ ...snapshot, sortedVersions, versions: new Map(sortedVersions.map((one) => [one.name, one])) });
}

/** Freezes plain objects and lists recursively. A Map is read-only by its type only; its values are frozen. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of value instanceof Map ? value.values() : Object.values(value)) deepFreeze(member);
  return value;
}
