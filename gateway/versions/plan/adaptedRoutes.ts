import type { Snapshot, Version } from '../../config/snapshot.ts';
import { segmentPattern, segmentsOf, valuesIn, withoutFinalSlash } from '../../shared/pathTable.ts';
import { firstOf, plural, printable } from '../../shared/text.ts';
import { pathWithoutIds } from '../../usage/counting/routeNames.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import type { ClientUse, UsageQueries, VersionClientUse } from '../../usage/usageQueries.ts';
import { otherRoute } from '../../usage/usageRow.ts';
import type { PlannedAnswer } from './plan.ts';

/**
 * How a version answers the requests that the ledger counts under one route. `not_adapted`: 410, because an adapter serves the
 * version without this route. `unknown`: the name stands for several routes, and the adapter does not treat them alike.
 */
export type RouteAnswer = 'served' | 'not_adapted' | 'unknown';

/** Routes of a version that get the same answer from the candidate, and the same answer from the running configuration. */
export interface RouteGroup {
  readonly candidateAnswer: RouteAnswer;
  readonly runningAnswer: RouteAnswer;
  /** Their names in the ledger. */
  readonly routes: readonly string[];
  /** Client → its requests to these routes. */
  readonly uses: ReadonlyMap<string, ClientUse>;
}

interface Configurations {
  readonly candidate: Snapshot;
  readonly running: Snapshot | undefined;
}

/** Version → the groups of its routes that an adapter does not serve, or perhaps does not serve. */
export async function routeGroups(
  queries: Pick<UsageQueries, 'routes' | 'ofRoutes'>,
  { candidate, running }: Configurations,
  since: number,
): Promise<ReadonlyMap<string, readonly RouteGroup[]>> {
  const groups = new Map<string, RouteGroup[]>();
  for (const version of candidate.sortedVersions) {
    const runningVersion = running?.versions.get(version.name);
    const [answerOf, runningAnswerOf] = [routeAnswers(version), runningVersion && routeAnswers(runningVersion)];
    if (answerOf === undefined) continue;
    // If both adapters have the same routes, every request that was served is still served.
    const haveSameRoutes =
      runningAnswerOf !== undefined && adaptedNames(version) === (runningVersion && adaptedNames(runningVersion));
    const answers = (await queries.routes(version.name, since)).map(({ route }) => {
      return {
        route,
        candidateAnswer: answerOf(route),
        runningAnswer: runningAnswerOf?.(route) ?? ('served' as const),
      };
    });
    const byCandidate = Map.groupBy(answers, ({ candidateAnswer }) => candidateAnswer);
    for (const [candidateAnswer, sameCandidate] of byCandidate) {
      if (candidateAnswer === 'served' || (candidateAnswer === 'unknown' && haveSameRoutes)) continue;
      for (const [runningAnswer, same] of Map.groupBy(sameCandidate, (one) => one.runningAnswer)) {
        const routes = same.map(({ route }) => route);
        const uses = await (await queries.ofRoutes(routes)).byClient(version.name, since);
        const group = { candidateAnswer, runningAnswer, routes, uses: new Map(uses.map((use) => [use.client, use])) };
        groups.set(version.name, [...(groups.get(version.name) ?? []), group]);
      }
    }
  }
  return groups;
}

/** A part of the requests of one client to one version. `group`: undefined for routes that are in no group. */
export interface UsePart {
  readonly use: VersionClientUse;
  readonly group: RouteGroup | undefined;
}

/** Divides the requests of a client since `since` by groups of routes. The sums over all parts equal those of `use`. */
export function useParts(use: VersionClientUse, groups: readonly RouteGroup[], since: number): readonly UsePart[] {
  const { version, client } = use;
  const parts = groups.flatMap((group) => {
    const { requests, errors, served, failing, refused, last, lastUsed, name, topRoutes } =
      group.uses.get(client) ?? {};
    if (requests === undefined) return [];
    const counts = { requests, errors, served, failing, refused, last, lastUsed };
    return [{ group, use: { version, client, name, ...counts, topRoutes } }];
  }) as UsePart[];
  // With 0 requests, the client has only an open request, which began before the period. Only the group of its route has the client.
  if (use.requests === 0) return [{ use, group: parts[0]?.group }];
  const remaining = (count: 'requests' | 'errors' | 'served' | 'failing' | 'refused'): number =>
    Math.max(
      0,
      parts.reduce((left, part) => left - part.use[count], use[count]),
    );
  const groupedRoutes = new Set(parts.flatMap(({ group }) => group?.routes ?? []));
  const isUseOfPart = parts.some((part) => part.use.lastUsed === use.lastUsed);
  const remainder = {
    ...use,
    lastUsed: isUseOfPart ? undefined : use.lastUsed,
    requests: remaining('requests'),
    errors: remaining('errors'),
    served: remaining('served'),
    failing: remaining('failing'),
    refused: remaining('refused'),
    topRoutes: use.topRoutes.filter(({ route }) => !groupedRoutes.has(route)),
  };
  const isUsed = remainder.requests > 0 || (remainder.lastUsed !== undefined && remainder.lastUsed >= since);
  return isUsed ? [{ use: remainder, group: undefined }, ...parts] : parts;
}

const maxNamedRoutes = 5;

/** Remarks on the routes that adapters refuse, or may refuse. `rows`: the requests of the clients that are not ignored. */
export function routeRemarks(
  groups: ReadonlyMap<string, readonly RouteGroup[]>,
  rows: readonly { readonly version: string; readonly answer: PlannedAnswer; readonly mayLose: number }[],
): Remark[] {
  return [...groups].flatMap(([version, ownGroups]) => {
    const routesInWords = (answer: RouteAnswer): string => {
      const routes = ownGroups
        .filter(({ candidateAnswer }) => candidateAnswer === answer)
        .flatMap((group) => group.routes);
      return printable(firstOf(routes, maxNamedRoutes));
    };
    const [refusedRoutes, unclearRoutes] = [routesInWords('not_adapted'), routesInWords('unknown')];
    const refuses = rows.some((row) => row.version === version && row.answer === 'not_adapted');
    const mayLose = rows.reduce((sum, row) => sum + (row.version === version ? row.mayLose : 0), 0);
    const remarks: Remark[] = [];
    if (refuses)
      remarks.push({
        code: 'not_adapted',
        text: `The adapter of /${version} does not serve these routes: ${refusedRoutes}.`,
      });
    if (mayLose > 0) {
      const text = `The adapter of /${version} may serve only some of the ${plural(mayLose, 'request')} that the ledger counts as ${unclearRoutes}.`;
      remarks.push({ code: 'route_unknown', text });
    }
    return remarks;
  });
}

/** The adapted routes as a text, to compare two adapters. */
export function adaptedNames({ adapter }: Version): string {
  const names = adapter?.routes.flatMap((route) => ('gone' in route ? [] : [`${route.method} ${route.path}`])) ?? [];
  return names.sort().join('\n');
}

/** Returns the largest body of a route, in bytes, by the name of the route in the ledger. An adapter limits the bodies that it changes. */
export function bodyLimits({ adapter, limits }: Pick<Version, 'adapter' | 'limits'>): (route: string) => number {
  if (adapter?.mode !== 'serve') return () => limits.body;
  const changing = adapter.routes
    .filter((route) => !('gone' in route) && route.request.body.length > 0)
    .map(({ method, path }) => ({ method, ...foldedTemplate(path) }));
  const smaller = Math.min(limits.body, adapter.body);
  return (route) => {
    const space = route.indexOf(' ');
    const [method, path] = [route.slice(0, space), route.slice(space + 1)];
    const isChanged = changing.some(
      (one) => one.method === method && (one.template === path || mayMatch(one, segmentsOf(withoutFinalSlash(path)))),
    );
    return isChanged || (route === otherRoute && changing.length > 0) ? smaller : limits.body;
  };
}

/** Returns how a version answers a route, by its name in the ledger. Undefined: no adapter serves the version. */
export function routeAnswers({ adapter, contract }: Version): ((route: string) => RouteAnswer) | undefined {
  if (adapter?.mode !== 'serve') return undefined;
  /** Path template → the methods that the adapter serves. */
  const methodsByTemplate = new Map<string, Set<string>>(
    contract?.paths.entries().map(([template]) => [template, new Set()]),
  );
  for (const route of adapter.routes) {
    const servedMethods = methodsByTemplate.get(route.path) ?? new Set();
    methodsByTemplate.set(route.path, servedMethods);
    if (!('gone' in route)) servedMethods.add(route.method);
  }
  const templates = [...methodsByTemplate.keys()].map(foldedTemplate);
  const answer = (template: string, method: string): RouteAnswer => {
    const servedMethods = methodsByTemplate.get(template) ?? new Set();
    const isServed =
      method === 'OPTIONS'
        ? servedMethods.size > 0
        : servedMethods.has(method) || (method === 'HEAD' && servedMethods.has('GET'));
    return isServed ? 'served' : 'not_adapted';
  };
  return (route) => {
    if (route === otherRoute) return 'unknown';
    const space = route.indexOf(' ');
    const [method, path] = [route.slice(0, space), route.slice(space + 1)];
    if (methodsByTemplate.has(path)) return answer(path, method);
    // The name is a template of another contract, or no contract had the path when the request was counted. In the second case
    // the ledger has `{}` instead of ids.
    const segments = segmentsOf(withoutFinalSlash(path));
    const answers = new Set(
      templates.filter((one) => mayMatch(one, segments)).map((one) => answer(one.template, method)),
    );
    // Some paths with this name may match no template.
    if (!templates.some((one) => alwaysMatches(one, segments))) answers.add('not_adapted');
    const [first = 'not_adapted', ...others] = answers;
    return others.length > 0 ? 'unknown' : first;
  };
}

interface FoldedTemplate {
  readonly template: string;
  /** Without a final slash, as `folded`. */
  readonly segments: readonly string[];
  /** The segments of the template with their ids replaced, as in names of the ledger. */
  readonly folded: readonly string[];
}

function foldedTemplate(template: string): FoldedTemplate {
  const segments = segmentsOf(withoutFinalSlash(template));
  return { template, segments, folded: segmentsOf(withoutFinalSlash(pathWithoutIds(template))) };
}

/**
 * Whether a path in the ledger (with `{}` instead of ids, or a template of another contract) may stand for a path of the
 * template.
 */
function mayMatch({ segments, folded }: FoldedTemplate, path: readonly string[]): boolean {
  const mayStandFor = (segment: string, at: number): boolean => {
    const isEqual = folded[at] === segment;
    // An empty segment cannot be the value of a parameter.
    if (isEqual || segment === '') return isEqual;
    const pattern = segmentPattern(segments[at] ?? '');
    if (pattern !== undefined && valuesIn(segment, pattern) !== undefined) return true;
    // `{}` is any id, so it cannot stand for a fixed segment. `{name}` is a parameter of another contract, and can.
    return segment.includes('{') && (pattern !== undefined || segment !== '{}');
  };
  return folded.length === path.length && path.every(mayStandFor);
}

/** Whether every path that the ledger counts as `path` matches the template. */
function alwaysMatches(one: FoldedTemplate, path: readonly string[]): boolean {
  const isOnlyParameter = (segment: string): boolean =>
    segmentPattern(segment)?.literals.every((text) => text === '') ?? false;
  return (
    mayMatch(one, path) &&
    one.segments.length === path.length &&
    one.segments.every((segment, at) => isOnlyParameter(segment) || segment === path[at])
  );
}
