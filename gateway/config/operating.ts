// What routes.yaml says about operating versions rather than serving them. Durations in ms, instants in epoch ms.

/** What a reload must not do to a version that is in use. */
export interface GuardSettings {
  /** 0 means off. */
  readonly quiet: number;
  /** 0 means off. */
  readonly notice: number;
  /** Reasons by path segment, `v1`; the version need not be in the file any more. */
  readonly force: ReadonlyMap<string, string>;
}

export interface UsageSettings {
  readonly identify: readonly Identifier[];
  /** Absolute path of the ledger. */
  readonly store: string;
  readonly retention: number;
  readonly maxClients: number;
  readonly maxRoutes: number;
  /** Absolute path of a file that names clients; undefined: there is none. */
  readonly names: string | undefined;
}

/** Where the name of a client is looked for. Header names are in lower case. */
export type Identifier =
  | { readonly by: 'header'; readonly name: string }
  | { readonly by: 'jwt'; readonly claim: string }
  | { readonly by: 'user-agent' | 'address' };

export interface RetireSettings {
  readonly quiet: number;
  /** A share of all requests, 0 to 1. */
  readonly maxShare: number;
  /** `on`: a client that usually pauses for longer than `quiet` keeps a version until it is overdue. */
  readonly rhythm: 'on' | 'off';
  readonly ignoreClients: readonly string[];
}

export interface CompatSettings {
  /** By rule id: a level in place of the built-in one. */
  readonly rules: ReadonlyMap<string, 'error' | 'warn' | 'info' | 'off'>;
  readonly exempt: readonly Exemption[];
}

/** A finding that is let through until a day on which somebody looks at it again. */
export interface Exemption {
  readonly rule: string;
  /** As the report names it: `GET /cocktails`. */
  readonly route: string;
  /** The place as the report names it; undefined: the whole route. */
  readonly pointer: string | undefined;
  readonly reason: string;
  readonly until: number;
}

/** What is written down of every exchange. */
export interface LogSettings {
  /** `file`: an absolute path. */
  readonly access: 'off' | 'stdout' | 'stderr' | { readonly file: string };
  readonly format: 'auto' | 'json' | 'pretty';
  /** A share of the exchanges that went well, 0 to 1. */
  readonly sample: number;
  /** How much of a client's address is kept; a network is a /24 or a /48. */
  readonly address: 'full' | 'network' | 'none';
  readonly query: boolean;
  /** Names of query parameters, in lower case. */
  readonly redact: readonly string[];
}
