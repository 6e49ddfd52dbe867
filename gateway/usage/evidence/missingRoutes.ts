/** A route whose requests the backend of a version answered 404, 405 or 410, and none 2xx or 3xx since. Instants are epoch ms. */
export interface MissingRoute {
  /** `v2` */
  readonly version: string;
  /** As the ledger names it: `GET /profile`. */
  readonly route: string;
  /** The targets that answered, as `backendOf` names them. After an edit that changes them, nothing is known about the route. */
  readonly backend: string;
  /** Of the latest answer. */
  readonly status: number;
  readonly since: number;
  readonly last: number;
}

/** A route that was missing, and that the backend has answered at `at` (epoch ms). */
export interface AnsweredRoute {
  readonly version: string;
  readonly route: string;
  readonly at: number;
}

/** What one process, or all processes together, observed. */
export interface RouteAnswersReport {
  readonly missing: readonly MissingRoute[];
  readonly answered: readonly AnsweredRoute[];
}

export function keyOfRoute({ version, route }: Pick<MissingRoute, 'version' | 'route'>): string {
  return `${version} ${route}`;
}

/** A later success in any process means that the route exists. */
export function mergeRouteAnswers(reports: readonly RouteAnswersReport[]): RouteAnswersReport {
  const answered = new Map<string, AnsweredRoute>();
  for (const one of reports.flatMap((report) => report.answered)) {
    const other = answered.get(keyOfRoute(one));
    if (other === undefined || other.at < one.at) answered.set(keyOfRoute(one), one);
  }
  const missing = new Map<string, MissingRoute>();
  for (const one of reports.flatMap((report) => report.missing)) {
    const key = keyOfRoute(one);
    if ((answered.get(key)?.at ?? Number.NEGATIVE_INFINITY) >= one.last) continue;
    const other = missing.get(key);
    const latest = other && other.last > one.last ? other : one;
    missing.set(key, { ...latest, since: Math.min(one.since, other?.since ?? one.since) });
  }
  return { missing: [...missing.values()], answered: [...answered.values()] };
}
