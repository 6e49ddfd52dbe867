/** What the contacts with a target have shown. All instants are epoch ms. */
export interface ContactFacts {
  /** False after a failed connection attempt, true after a successful one, undefined before the first. */
  readonly reachable: boolean | undefined;
  /** Undefined: not ejected. */
  readonly ejectedUntil: number | undefined;
  readonly failsProbes?: boolean;
  /** The first failed contact since the last success; undefined: there is none. */
  readonly failingSince?: number | undefined;
  /** The latest failed contact since the last success; undefined: there is none. */
  readonly lastFailure?: number | undefined;
  /** The last response head or passed probe; undefined: not since the start. */
  readonly lastSuccess?: number | undefined;
}

export interface ObservedHealth extends ContactFacts {
  /**
   * - `not tried`: no contact has succeeded or failed since the gateway started
   * - `healthy`: the last contact succeeded
   * - `failing`: the last contact failed, or its probes fail, since `failingSince`
   * - `ejected`: gets no requests until `ejectedUntil`
   * - `removed`: no longer in routes.yaml, but still has open requests
   */
  readonly health: 'not tried' | 'healthy' | 'failing' | 'ejected' | 'removed';
}

/** The health that follows from the contacts. All code that judges a target asks for this value. */
export function observedHealth(facts: ContactFacts): ObservedHealth {
  return { ...facts, health: healthFrom(facts) };
}

function healthFrom({ failsProbes, ejectedUntil, failingSince, lastSuccess }: ContactFacts): ObservedHealth['health'] {
  if (failsProbes) return 'failing';
  if (ejectedUntil !== undefined) return 'ejected';
  if (failingSince !== undefined) return 'failing';
  return lastSuccess === undefined ? 'not tried' : 'healthy';
}

/**
 * A target fails if its last contact with any process failed, and no contact with another process has succeeded since. It fails its
 * probes, or is ejected, if that is so in any process.
 */
export function mergeContacts(a: ContactFacts, b: ContactFacts): ContactFacts {
  const failsProbes = Boolean(a.failsProbes) || Boolean(b.failsProbes);
  const lastSuccess = latest(a.lastSuccess, b.lastSuccess);
  const lastFailure = latest(a.lastFailure, b.lastFailure);
  const isFailing =
    lastFailure !== undefined && (failsProbes || lastSuccess === undefined || lastFailure >= lastSuccess);
  const firstFailure = earliest(a.failingSince, b.failingSince);
  const failing = isFailing
    ? { lastFailure, failingSince: failsProbes ? firstFailure : latest(firstFailure, lastSuccess) }
    : {};
  const [newer, older] = lastContact(a) > lastContact(b) ? [a, b] : [b, a];
  return {
    reachable: newer.reachable ?? older.reachable,
    ejectedUntil: latest(a.ejectedUntil, b.ejectedUntil),
    failsProbes,
    lastSuccess,
    ...failing,
  };
}

function lastContact({ lastSuccess = 0, lastFailure = 0 }: ContactFacts): number {
  return Math.max(lastSuccess, lastFailure);
}

export function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : Math.min(a, b ?? a);
}

export function latest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : Math.max(a, b ?? a);
}
