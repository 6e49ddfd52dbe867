// Settings that treat single clients of a version differently from all others.

/** A client that a retired version still serves, until the end of its waiver. */
export interface Waiver {
  /** As in the file: a name in `usage.names`, or a name in the ledger. */
  readonly client: string;
  /** The names of that client in the ledger. */
  readonly clients: readonly string[];
  /** Epoch ms. */
  readonly until: number;
  readonly reason: string;
}

/**
 * Refuses, or only reports, the clients that first call a version at `from` (epoch ms) or later. `allow`: the clients to which the freeze
 * does not apply, by their names in the ledger.
 */
export interface FreezeSettings {
  readonly from: number;
  readonly mode: 'report' | 'refuse';
  readonly allow: readonly string[];
}

/** A period in which some clients are refused, so that they notice the end of the version. Instants in epoch ms. */
export interface BrownoutWindow {
  readonly at: number;
  /** The first instant after the window. */
  readonly end: number;
  /** The share of clients that are refused, 0 to 1. */
  readonly clientShare: number;
  /** Undefined: all routes. */
  readonly routes: readonly { readonly method: string; readonly path: string }[] | undefined;
}

/** Rules for the brownouts of all versions. */
export interface BrownoutSettings {
  /** The shortest time from the announcement to the start, ms; 0 means off. */
  readonly notice: number;
  readonly status: 503 | 410;
  /** The names in the ledger of the clients that are never refused. */
  readonly spared: readonly string[];
  /** A brownout is skipped if clients without a name make more than this share of the requests to its version, 0 to 1. */
  readonly unnamed: number;
  /** A brownout is skipped if it would refuse more than this share of all requests, 0 to 1. */
  readonly maxShare: number;
}
