import type { BrownoutWindow } from '../clientRules.ts';
import { isUnusable } from '../contracts.ts';
import type { Fault } from '../fault.ts';
import { faultAt } from '../source.ts';
import { isRoute, routeIn } from './lifecycle.ts';
import { type ConfigRule, dateText, isInService, type RouteEntry, successorOf, type WarningRule } from './rule.ts';

// Clients that fail for a shorter time read it as a network problem. A longer one is an outage.
const shortestMs = 15 * 60_000;
const longestMs = 24 * 3_600_000;

/** The brownouts of a version, in the order of their starts. For a file without faults. */
export function windowsOf({ brownouts }: RouteEntry['route']): BrownoutWindow[] {
  return brownouts
    .map(({ at, for: length, clients, routes }) => ({ at, end: at + length, clients, routes: routes?.map(routeIn) }))
    .sort((a, b) => a.at - b.at);
}

type Window = RouteEntry['route']['brownouts'][number];

/** `check` returns a key of the window, a message and a remedy; undefined: the window is correct. */
function eachWindow(
  check: (window: Window, entry: RouteEntry, index: number) => readonly [key: keyof Window, string, string] | undefined,
): ConfigRule {
  return ({ source, entries }) =>
    entries.flatMap((entry) =>
      entry.route.brownouts.flatMap((window, index): Fault[] => {
        const [key, message, remedy] = check(window, entry, index) ?? [];
        if (key === undefined || message === undefined || remedy === undefined) return [];
        return [faultAt(source, ['routes', entry.key, 'brownouts', index, key], message, remedy)];
      }),
    );
}

export const brownoutLengths = eachWindow(({ for: length }) => {
  if (length < shortestMs) return ['for', 'The brownout is shorter than 15 minutes.', 'Write 15m or more.'];
  return length > longestMs ? ['for', 'The brownout is longer than 24 hours.', 'Write 24h or less.'] : undefined;
});

/** Clients learn of the end of a version from its deprecation, and after its sunset nothing is left to move away from. */
export const brownoutsInDeprecation = eachWindow(({ at, for: length }, { key, route: { deprecation, sunset } }) => {
  if (deprecation === undefined)
    return ['at', `${key} has no deprecation.`, 'Add a deprecation before the brownout, or remove the brownout.'];
  if (at < deprecation) {
    const message = `${dateText(at)} is before the deprecation of ${key}, ${dateText(deprecation)}.`;
    return ['at', message, `Move it to ${dateText(deprecation)} or later.`];
  }
  if (sunset === undefined || at + length <= sunset) return undefined;
  const message = `The brownout ends at ${dateText(at + length)}, after the sunset of ${key}, ${dateText(sunset)}.`;
  return ['at', message, 'Let it end before the sunset, or move the sunset.'];
});

export const brownoutsOverlap = eachWindow(({ at, for: length }, { route }, index) => {
  const other = route.brownouts.slice(0, index).find((one) => at < one.at + one.for && one.at < at + length);
  if (other === undefined) return undefined;
  const message = `The brownout overlaps the one that begins at ${dateText(other.at)}.`;
  return ['at', message, 'Move one of the two, or make it shorter.'];
});

/** The routes of a brownout are routes of the version. */
export const brownoutRoutes: ConfigRule = ({ source, entries, contracts }) =>
  entries.flatMap(({ key, route }) => {
    const contract = contracts.get(key);
    return route.brownouts.flatMap(({ routes = [] }, index) =>
      routes.flatMap((name, place): Fault[] => {
        const at = ['routes', key, 'brownouts', index, 'routes', place];
        const { method, path } = routeIn(name);
        if (!isRoute({ method, path })) {
          const remedy = 'Write a method in capitals and a path below the version, such as "GET /drinks/{id}".';
          return [faultAt(source, at, `${name} is not a route.`, remedy)];
        }
        if (!contract || isUnusable(contract) || contract.paths.find(path) !== undefined) return [];
        const message = `The contract of ${key} has no path ${path}.`;
        return [faultAt(source, at, message, `Write a path of ${route.contract?.file}, without ${key}.`)];
      }),
    );
  });

/** Warns about brownouts ahead whose start conditions cannot be met. */
export const brownoutCannotStart: WarningRule = (context, now) =>
  context.entries.flatMap((entry) => {
    const { key, route } = entry;
    const index = route.brownouts.findIndex((window) => window.at > now);
    if (index === -1 || !isInService(entry, now)) return [];
    const at = ['routes', key, 'brownouts', index];
    if (successorOf(entry, context, now) === undefined) {
      const message = `${key} has no successor, so its brownouts are skipped.`;
      return [faultAt(context.source, at, message, 'Add the next major, or remove the brownouts.', 'key')];
    }
    const { usage, brownout } = context.draft;
    if (usage.names !== undefined || brownout.unnamed === 1) return [];
    const message = 'No client has a name, so brownouts are skipped: it is not known whom to inform.';
    return [
      faultAt(context.source, at, message, 'Name the clients in usage.names, or set brownout.unnamed: 100%.', 'key'),
    ];
  });
