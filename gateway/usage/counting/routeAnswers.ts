import type { Snapshot, Version } from '../../config/snapshot.ts';
import {
  type AnsweredRoute,
  keyOfRoute,
  type MissingRoute,
  mergeRouteAnswers,
  type RouteAnswersReport,
} from '../evidence/missingRoutes.ts';
import { otherRoute } from '../usageRow.ts';
import { currentPathOf } from './routeNames.ts';

// A 404 of `/profile/7` may only mean that this profile is gone. So many answers in a row, for so many paths, mean that the route is.
const answersInARow = 20;
const distinctPaths = 5;
// A scanner must not fill the memory. The oldest entries are dropped.
const maxRoutes = 500;
// A missing route that nobody has called for this long may exist by now.
const longestMs = 24 * 3_600_000;
// Until then every process has learned that a route was answered.
const answeredMs = 10 * 60_000;

/** Answers that may become a missing route. */
interface Suspicion {
  readonly since: number;
  answers: number;
  /** At most `distinctPaths`. */
  readonly paths: Set<string>;
}

interface ObservedVersion {
  readonly backend: string;
  readonly suspicions: Map<string, Suspicion>;
  readonly succeeded: Set<string>;
}

/**
 * Notices routes that a version does not have, by the answers of its backend (docs/decisions/0031). It tells when a link to the
 * successor would lead to a 404, although no contract says so.
 */
export class RouteAnswers {
  #versions = new Map<string, ObservedVersion>();
  readonly #missing = new Map<string, MissingRoute>();
  readonly #answered = new Map<string, AnsweredRoute>();
  #hasSuspicions = false;

  /** What was observed of a version is forgotten if its backend changes. */
  configure({ sortedVersions }: Pick<Snapshot, 'sortedVersions'>): void {
    this.#versions = new Map(
      sortedVersions.map((version) => {
        const kept = this.#versions.get(version.name);
        const backend = backendOf(version);
        const observed =
          kept?.backend === backend ? kept : { backend, suspicions: new Map(), succeeded: new Set<string>() };
        return [version.name, observed];
      }),
    );
    for (const [key, one] of this.#missing) if (!this.#isOfBackend(one)) this.#missing.delete(key);
  }

  /** False: `isMissing` is false for every route. */
  get isAnyMissing(): boolean {
    return this.#missing.size > 0;
  }

  /** Whether an answer with this status may change what is known. */
  isOfInterest(status: number): boolean {
    return meansMissing(status) || this.isAnyMissing || this.#hasSuspicions;
  }

  /** `path`: below the version, without the query. */
  isMissing({ name: version, contract }: Version, method: string, path: string): boolean {
    const template = currentPathOf(path, contract?.paths);
    const isKnown = (name: string): boolean => this.#missing.has(keyOfRoute({ version, route: `${name} ${template}` }));
    return isKnown(method) || (method === 'HEAD' && isKnown('GET'));
  }

  /** A backend has answered a request. `route`: as the ledger names it. `path`: as requested. `at`: epoch ms. */
  note(version: string, route: string, path: string, status: number, at: number): void {
    const observed = this.#versions.get(version);
    if (observed === undefined || route === otherRoute) return;
    // A backend that lacks `/profile/` may have `/profile`.
    const isRouteItself = path.endsWith('/') === route.endsWith('/');
    if (meansMissing(status) && isRouteItself) this.#noteMissing(observed, { version, route, path, status, at });
    else if (status === 101 || (status >= 200 && status < 400)) this.#noteSuccess(observed, { version, route, at });
  }

  report(): RouteAnswersReport {
    return { missing: [...this.#missing.values()], answered: [...this.#answered.values()] };
  }

  /** Adds what all processes have observed. */
  share(all: RouteAnswersReport): void {
    const { missing } = mergeRouteAnswers([this.report(), all]);
    this.#missing.clear();
    for (const one of missing) if (this.#isOfBackend(one)) this.#missing.set(keyOfRoute(one), one);
  }

  /** Forgets what is too old. `now`: epoch ms. */
  expire(now: number): void {
    for (const [key, { last }] of this.#missing) if (now - last > longestMs) this.#missing.delete(key);
    for (const [key, { at }] of this.#answered) if (now - at > answeredMs) this.#answered.delete(key);
  }

  #noteMissing(
    { backend, suspicions, succeeded }: ObservedVersion,
    answer: { readonly path: string; readonly at: number } & Pick<MissingRoute, 'version' | 'route' | 'status'>,
  ): void {
    const { version, route, path, status, at } = answer;
    const key = keyOfRoute(answer);
    const known = this.#missing.get(key);
    if (known) {
      this.#missing.set(key, { ...known, status, last: Math.max(known.last, at) });
      return;
    }
    const suspicion = suspicions.get(route) ?? { since: at, answers: 0, paths: new Set() };
    suspicion.answers += 1;
    if (suspicion.paths.size < distinctPaths) suspicion.paths.add(path.slice(0, 200));
    setBounded(suspicions, route, suspicion);
    this.#hasSuspicions = true;
    if (!isDecisive(suspicion, route, status, succeeded.has(route))) return;
    suspicions.delete(route);
    this.#answered.delete(key);
    setBounded(this.#missing, key, { version, route, backend, status, since: suspicion.since, last: at });
  }

  #noteSuccess(
    { suspicions, succeeded }: ObservedVersion,
    answer: { readonly version: string; readonly route: string; readonly at: number },
  ): void {
    const { route } = answer;
    if (succeeded.size < maxRoutes) succeeded.add(route);
    if (suspicions.size > 0) suspicions.delete(route);
    if (this.#missing.size === 0) return;
    const key = keyOfRoute(answer);
    if (this.#missing.delete(key)) setBounded(this.#answered, key, answer);
  }

  #isOfBackend({ version, backend }: MissingRoute): boolean {
    return this.#versions.get(version)?.backend === backend;
  }
}

function meansMissing(status: number): boolean {
  return status === 404 || status === 405 || status === 410;
}

/** Whether the answers mean that the route does not exist. */
function isDecisive({ answers, paths }: Suspicion, route: string, status: number, hasSucceeded: boolean): boolean {
  if (hasSucceeded && answers < answersInARow) return false;
  // 405 is about the method of a resource that exists, so the parameters do not matter.
  if (status === 405 || !route.includes('{')) return true;
  return answers >= answersInARow && paths.size >= distinctPaths;
}

function backendOf({ targets, prefix, adapter }: Version): string {
  return JSON.stringify([targets.map(({ url }) => url), prefix, adapter?.mode, adapter?.from]);
}

function setBounded<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxRoutes && oldest !== undefined) map.delete(oldest);
}
