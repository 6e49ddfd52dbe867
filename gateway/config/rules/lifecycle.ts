import { dateText } from '../../shared/instant.ts';
import { baseOf, basePattern, idOfReference } from '../api.ts';
import type { Fault } from '../fault.ts';
import {
  type Contract,
  type ContractEnd,
  contractMethods,
  endDateKeys,
  isUnusable,
  type RouteEnd,
  type UnusableContract,
} from '../snapshot.ts';
import { faultAt, faultAtKey, hasValue } from '../source.ts';
import { isPrefix, problemOfVersionIn, routeKeys } from './routes.ts';
import {
  type ConfigRule,
  isInService,
  leavesApi,
  type RouteEntry,
  type RuleContext,
  successorEvenIfRetired,
  type WarningRule,
} from './rule.ts';

/** A client that reads `Sunset` expects a `Deprecation` before it. */
export const sunsetNeedsDeprecation: ConfigRule = ({ source, entries }) =>
  entries
    .filter(({ key, route }) => route.sunset !== undefined && !hasValue(source, ['routes', key, 'deprecation']))
    .map(({ key }) => {
      const remedy = 'Add the date from which the version is deprecated: deprecation: YYYY-MM-DD.';
      return faultAt(source, ['routes', key, 'sunset'], 'A sunset needs a deprecation.', remedy);
    });

/** RFC 9745 §4: the Sunset must not be earlier than the Deprecation. */
export const sunsetNotBeforeDeprecation: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route: { deprecation, sunset } }) => {
    if (deprecation === undefined || sunset === undefined || sunset >= deprecation) return [];
    const [sunsetDate, deprecationDate] = [dateText(sunset), dateText(deprecation)];
    const message = `${sunsetDate} is earlier than deprecation ${deprecationDate}.`;
    const remedy = `Move sunset to ${deprecationDate} or later, or remove it.`;
    return [faultAt(source, ['routes', key, 'sunset'], message, remedy)];
  });

/** A successor must be a version of this file. */
export const successorExists: ConfigRule = ({ source, entries, apis }) =>
  entries.flatMap((entry) => {
    const { key, route } = entry;
    const { successor } = route;
    if (successor === undefined || hasValue(source, ['routes', successor])) return [];
    // Teams must not block each other, so a missing version of another API is a warning.
    if (leavesApi(entry) && apis.size > 1) return [];
    const others = routeKeys(source).filter((other) => other !== key && isPrefix(other));
    const remedy = others.length > 0 ? `Write one of ${others.join(', ')}, or remove it.` : 'Remove it.';
    return [
      faultAt(
        source,
        ['routes', key, 'successor'],
        `${successor} is not a version of this ${source.api ? 'API' : 'file'}.`,
        remedy,
      ),
    ];
  });

/** Clients are sent to a version of another API that does not serve them. */
export const successorOfOtherApi: WarningRule = ({ source, base, entries, apis }, now) =>
  entries.filter(leavesApi).flatMap(({ key, route: { successor = '' } }) => {
    const other = entryOf(idOfReference(base, successor), apis);
    if (other && isInService(other, now)) return [];
    const message = `${successor}, the successor of ${key}, ${other ? 'is itself retired' : 'does not exist'}.`;
    return [faultAt(source, ['routes', key, 'successor'], message, 'Name a version in service, or remove the key.')];
  });

function entryOf(id: string, apis: RuleContext['apis']): RouteEntry | undefined {
  return apis.get(baseOf(id))?.entries.find(({ name }) => name === id);
}

/** Successors must not form a cycle: clients would be sent back and forth. */
export const successorsHaveNoCycle: ConfigRule = (context) => [
  ...cyclesWithinApi(context),
  ...context.entries.filter(leavesApi).flatMap((entry) => {
    const chain = [entry.name];
    let current = nextEntry(entry, context.apis);
    while (current && !chain.includes(current.name)) {
      chain.push(current.name);
      current = nextEntry(current, context.apis);
    }
    if (current !== entry) return [];
    const message = `The successors form a cycle: ${[...chain, entry.name].map((id) => `/${id}`).join(' → ')}.`;
    const remedy = 'Name a version that does not lead back, or remove the key.';
    return [faultAt(context.source, ['routes', entry.key, 'successor'], message, remedy)];
  }),
];

/** The successor of a version in whatever API. */
function nextEntry(entry: RouteEntry, apis: RuleContext['apis']): RouteEntry | undefined {
  const base = baseOf(entry.name);
  const api = apis.get(base);
  const { successor = '' } = entry.route;
  return leavesApi(entry) ? entryOf(idOfReference(base, successor), apis) : api && successorEvenIfRetired(entry, api);
}

function cyclesWithinApi(context: RuleContext): Fault[] {
  return versionsWithLowerSuccessor(context).flatMap(({ entry, chain }) => {
    if (chain.at(-1) !== entry.key) return [];
    const message =
      chain.length === 2 ? `${entry.key} is its own successor.` : `The successors form a cycle: ${chain.join(' → ')}.`;
    const path = ['routes', entry.key, 'successor'];
    return [faultAt(context.source, path, message, 'Name a higher major, or remove the key.')];
  });
}

/** The successor of a major is a higher major. */
export const successorIsHigher: ConfigRule = (context) =>
  versionsWithLowerSuccessor(context).flatMap(({ entry, chain }) => {
    if (chain.at(-1) === entry.key) return [];
    const message = `${entry.route.successor} is lower than ${entry.key} itself.`;
    const path = ['routes', entry.key, 'successor'];
    return [faultAt(context.source, path, message, 'Name a higher major, or remove the key.')];
  });

/**
 * The versions whose configured successor is not a higher major. Every cycle of successors contains at least one of them. `chain`: the
 * keys of the version and its successors, up to the last successor or until a key repeats. If the version is in a cycle, its key
 * is also the last one.
 */
function versionsWithLowerSuccessor({ entries }: RuleContext): { entry: RouteEntry; chain: string[] }[] {
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const nextOf = ({ major, route }: RouteEntry): RouteEntry | undefined =>
    route.successor === undefined ? entries.find((other) => other.major > major) : byKey.get(route.successor);
  return entries.flatMap((entry) => {
    const successor = entry.route.successor === undefined ? undefined : nextOf(entry);
    if (!successor || successor.major > entry.major) return [];
    const chain = [entry.key];
    const seen = new Set<string>();
    for (
      let current: RouteEntry | undefined = successor;
      current && !seen.has(current.key);
      current = current === entry ? undefined : nextOf(current)
    ) {
      chain.push(current.key);
      seen.add(current.key);
    }
    return [{ entry, chain }];
  });
}

/** Stands for the reason in the entry of `guard.force` that a refused reload proposes. It is not accepted as a reason. */
export const forcePlaceholder = '<why this is right>';

/** `guard.force` may name a version that is no longer in the file. Each entry needs a prefix and a reason. */
export const forceNeedsPrefixAndReason: ConfigRule = ({ source, config }) =>
  Object.entries(config.guard.force).flatMap(([key, reason]): Fault[] => {
    const path = ['guard', 'force', key];
    const end = key.lastIndexOf('/');
    // The gateway's file may name versions of all APIs.
    const isId = isPrefix(key.slice(end)) && (end === 0 || (!source.api && basePattern.test(key.slice(0, end))));
    if (!isId) return [faultAtKey(source, path, `${key} is not the prefix of a version.`, 'Write /v1: "the reason".')];
    // The text of the placeholder without its brackets is not a reason, either.
    const isPlaceholder = /^\s*<.*>\s*$/.test(reason) || reason.trim() === forcePlaceholder.slice(1, -1);
    return isPlaceholder
      ? [faultAt(source, path, `"${reason}" is a placeholder.`, 'Write the reason for the exception.')]
      : [];
  });

/**
 * The ends of single routes of a version: those in its `section` of routes.yaml, and those of other operations in the contract. For a
 * file without faults.
 */
export function routeEndsOf(section: RouteEntry['route'], contract: Contract | undefined): RouteEnd[] {
  const inRoutesFile = Object.entries(section.ends ?? {}).map(([key, dates]) => ({ ...splitRoute(key), ...dates }));
  const inContract = endsOfContract(section, contract).filter((end) => !isUndated(end));
  return [...inRoutesFile, ...inContract].flatMap(({ method, path, deprecation, sunset }) =>
    deprecation === undefined ? [] : [{ method, path, deprecation, sunset }],
  );
}

/** The ends in the contract, without those of operations that `ends` in routes.yaml also lists. */
function endsOfContract(
  section: RouteEntry['route'],
  contract: Contract | UnusableContract | undefined,
): readonly ContractEnd[] {
  if (contract === undefined || isUnusable(contract)) return [];
  const replacedShapes = new Set(Object.keys(section.ends ?? {}).map((key) => routeShapeOf(splitRoute(key))));
  return contract.ends.filter((end) => !replacedShapes.has(routeShapeOf(end)));
}

/** Splits `GET /drinks/{id}` into method and path. */
export function splitRoute(key: string): Pick<RouteEnd, 'method' | 'path'> {
  const [method = '', ...path] = key.trim().split(/\s+/);
  return { method, path: path.join(' ') };
}

/** Routes with the same shape match the same requests. */
export function routeShapeOf({ method, path }: Pick<RouteEnd, 'method' | 'path'>): string {
  return `${method} ${path.replace(/\{[^{}]*\}/g, '{}')}`;
}

const methods: ReadonlySet<string> = new Set(contractMethods.map((name) => name.toUpperCase()));

/** Whether this is a method and a path below the version. It need not be a route that exists. */
export function isRoute({ method, path }: Pick<RouteEnd, 'method' | 'path'>): boolean {
  return methods.has(method) && /^\/[^\s?#]*$/.test(path);
}

/** Whether the contract lists this path. `/drinks/mine` matches a path `/drinks/{id}`, but it is another path. */
export function listsPath({ paths }: Contract, path: string): boolean {
  const shape = routeShapeOf({ method: '', path });
  return paths.entries().some(([template]) => routeShapeOf({ method: '', path: template }) === shape);
}

/** Why a path in `ends`, `brownouts` or `deny` matches no request. Undefined: it may match some. */
export function unmatchedPath(
  path: string,
  { key, route }: RouteEntry,
  contract: Contract | UnusableContract | undefined,
  isListed = listsPath,
): readonly [message: string, remedy: string] | undefined {
  if (contract === undefined) return problemOfVersionIn(path);
  if (isUnusable(contract) || isListed(contract, path)) return undefined;
  return [`The contract of ${key} has no path ${path}.`, `Write a path of ${route.contract?.file}, without ${key}.`];
}

/** Each key of `ends` is a route of the version, and occurs once. */
export const routeOfEachEndExists: ConfigRule = ({ source, entries, contracts }) =>
  entries.flatMap((entry) => {
    const { key, route } = entry;
    const nameByShape = new Map<string, string>();
    return Object.keys(route.ends ?? {}).flatMap((name): Fault[] => {
      const at = ['routes', key, 'ends', name];
      const { method, path } = splitRoute(name);
      if (!isRoute({ method, path })) {
        const remedy = 'Write a method in capitals and a path below the version, such as "GET /legacy-search".';
        return [faultAtKey(source, at, `${name} is not a route.`, remedy)];
      }
      const shape = routeShapeOf({ method, path });
      const first = nameByShape.get(shape);
      nameByShape.set(shape, name);
      if (first !== undefined)
        return [faultAtKey(source, at, `${name} matches the same requests as ${first}.`, 'Keep one of the two.')];
      const fault = unmatchedPath(path, entry, contracts.get(key));
      return fault ? [faultAtKey(source, at, ...fault)] : [];
    });
  });

/** The end of a route needs a deprecation, and neither of its dates may be later than the sunset of the version. */
export const routeEndsHaveDates: ConfigRule = ({ source, entries, contracts }) =>
  entries.flatMap((entry) => {
    const { key, route } = entry;
    const inRoutesFile = Object.entries(route.ends ?? {}).flatMap(([name, dates]): Fault[] =>
      problemsOf(dates, entry, ['deprecation', 'sunset']).map(([dateKey, message, remedy]) =>
        faultAt(source, ['routes', key, 'ends', name, ...(dateKey === undefined ? [] : [dateKey])], message, remedy),
      ),
    );
    const inContract = datedEnds(entry, contracts).flatMap((end) =>
      problemsOf(end, entry, endDateKeys).map(([, message, remedy]) =>
        faultAt(source, ['routes', key, 'contract'], `${nameOf(end, route)}: ${message}`, remedy),
      ),
    );
    return [...inRoutesFile, ...inContract];
  });

/** Warns about operations of a contract whose end cannot be announced. It is no fault: other tools accept other values. */
export const contractEndsHaveDates: WarningRule = ({ source, entries, contracts }) =>
  entries.flatMap(({ key, route }) =>
    endsOfContract(route, contracts.get(key))
      .filter(isUndated)
      .map((end) => {
        const message = `${nameOf(end, route)}: ${end.problem ?? `${endDateKeys[0]} is missing`}, so nothing is announced.`;
        const remedy = `Write ${endDateKeys.join(' and ')} as YYYY-MM-DD, or list the route in ends.`;
        return faultAt(source, ['routes', key, 'contract'], message, remedy);
      }),
  );

function datedEnds({ key, route }: RouteEntry, contracts: RuleContext['contracts']): readonly ContractEnd[] {
  return endsOfContract(route, contracts.get(key)).filter((end) => !isUndated(end));
}

function isUndated({ deprecation, problem }: ContractEnd): boolean {
  return deprecation === undefined || problem !== undefined;
}

function nameOf({ method, path }: ContractEnd, { contract }: RouteEntry['route']): string {
  return `${contract?.file}, ${method} ${path}`;
}

type Problem = readonly [dateKey: string | undefined, message: string, remedy: string];

/** Checks the dates of a route. `deprecationKey` and `sunsetKey`: the keys of the two dates in their file. */
function problemsOf(
  { deprecation, sunset }: { readonly deprecation?: number | undefined; readonly sunset?: number | undefined },
  { key, route }: RouteEntry,
  [deprecationKey, sunsetKey]: readonly [deprecationKey: string, sunsetKey: string],
): Problem[] {
  if (deprecation === undefined) {
    const remedy = `Add the date from which the route is deprecated: ${deprecationKey}: YYYY-MM-DD.`;
    return [[undefined, `The route has no ${deprecationKey}.`, remedy]];
  }
  const problems: Problem[] = [];
  if (sunset !== undefined && sunset < deprecation) {
    const message = `${sunsetKey} ${dateText(sunset)} is earlier than ${deprecationKey} ${dateText(deprecation)}.`;
    problems.push([sunsetKey, message, `Move ${sunsetKey} to ${dateText(deprecation)} or later, or remove it.`]);
  }
  const versionSunset = route.sunset;
  if (versionSunset === undefined) return problems;
  const dates = [[deprecationKey, deprecation] as const, [sunsetKey, sunset] as const];
  for (const [name, date] of dates) {
    if (date === undefined || date <= versionSunset) continue;
    const message = `${name} ${dateText(date)} is later than the sunset of ${key}, ${dateText(versionSunset)}.`;
    problems.push([
      name,
      message,
      `Move it to ${dateText(versionSunset)} or earlier, or remove it: the whole version ends then.`,
    ]);
  }
  return problems;
}
