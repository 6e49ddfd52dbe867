import { dateText } from '../../shared/instant.ts';
import { PathTable } from '../../shared/pathTable.ts';
import { printable } from '../../shared/text.ts';
import { type Contract, isUnusable } from '../snapshot.ts';
import { faultAt, hasValue } from '../source.ts';
import {
  isInService,
  leavesApi,
  type RouteEntry,
  type RuleContext,
  successorEntry,
  successorEvenIfRetired,
  type WarningRule,
} from './rule.ts';

/** Clients are told to move, but not by when. */
export const deprecationWithoutSunset: WarningRule = ({ source, entries }, now) =>
  entries
    .filter(
      (entry) => isInService(entry, now) && entry.route.deprecation !== undefined && entry.route.sunset === undefined,
    )
    .map(({ key }) => {
      const message = `${key} is deprecated without a sunset, so its clients do not know how much time they have.`;
      return faultAt(source, ['routes', key, 'deprecation'], message, 'Add a sunset when it is known.');
    });

/** The announced end has passed, and the version is still in service, although nobody has written that it should be. */
export const passedSunset: WarningRule = ({ source, entries }, now) =>
  entries.flatMap((entry) => {
    const { key, route } = entry;
    if (route.sunset === undefined || route.sunset > now || !isInService(entry, now)) return [];
    if (hasValue(source, ['routes', key, 'after_sunset'])) return [];
    const message = `The sunset of ${key}, ${dateText(route.sunset)}, has passed, and ${key} is still served.`;
    const remedy =
      'Write retired: true or after_sunset: gone; or after_sunset: serve, to serve it until you retire it; or move the sunset to a later date.';
    return [faultAt(source, ['routes', key, 'sunset'], message, remedy)];
  });

/** A version ends without a successor. */
export const noSuccessor: WarningRule = (context, now) =>
  context.entries
    .filter((entry) => entry.route.sunset !== undefined && !leavesApi(entry) && !servedSuccessorOf(entry, context, now))
    .map(({ key }) => {
      const message = `${key} ends, and there is no higher major that its clients can move to.`;
      return faultAt(context.source, ['routes', key, 'sunset'], message, 'Add the next major, or remove the sunset.');
    });

/** Clients that move would soon have to move again. */
export const successorEndsFirst: WarningRule = (context, now) =>
  context.entries.flatMap((entry) => {
    const { key, route } = entry;
    const next = route.successor === undefined ? undefined : successorEvenIfRetired(entry, context);
    if (!next) return [];
    const path = ['routes', key, 'successor'];
    if (!isInService(next, now)) {
      const message = `${next.key}, the successor of ${key}, is itself retired.`;
      return [faultAt(context.source, path, message, 'Name a later major, or remove the key.')];
    }
    const isEarlier = next.route.sunset !== undefined && next.route.sunset < (route.sunset ?? Number.POSITIVE_INFINITY);
    if (!isEarlier || route.retired) return [];
    const message = `${next.key}, the successor of ${key}, ends before ${key} does.`;
    return [faultAt(context.source, path, message, 'Name a later major, or move one of the two dates.')];
  });

/** Links to the same resource in the successor are checked only if both versions have a contract. */
export const contractWithoutCounterpart: WarningRule = (context, now) =>
  context.entries.flatMap((entry) => {
    const successor = servedSuccessorOf(entry, context, now);
    if (entry.route.deprecation === undefined || !successor) return [];
    const [ownContract, nextContract] = [contractOf(context, entry.key), contractOf(context, successor.key)];
    if (!ownContract || nextContract) return [];
    const message = `${successor.key} has no contract, so links from ${entry.key} to it cannot be checked and may be broken.`;
    return [faultAt(context.source, ['routes', entry.key, 'contract'], message, `Add a contract to ${successor.key}.`)];
  });

/** A row of `moved` gives no link if its new path is missing in the contract of the direct successor, even of a retired one. */
export const movedToMissingRoute: WarningRule = (context, now) =>
  context.entries.flatMap((entry) => {
    const next = successorEvenIfRetired(entry, context);
    const paths = next && contractOf(context, next.key)?.paths;
    if (!paths || !servedSuccessorOf(entry, context, now)) return [];
    return Object.entries(entry.route.moved ?? {})
      .filter(([, to]) => to !== null && paths.find(to) === undefined)
      .map(([from, to]) => {
        const message = `The contract of ${next.key} has no ${to}, so clients get no link to it.`;
        return faultAt(
          context.source,
          ['routes', entry.key, 'moved', from],
          message,
          'Correct the row, or write null.',
        );
      });
  });

/** `moved` needs a successor. */
export const movedWithoutSuccessor: WarningRule = (context, now) =>
  context.entries
    .filter((entry) => Object.keys(entry.route.moved ?? {}).length > 0)
    .filter((entry) => !leavesApi(entry) && !servedSuccessorOf(entry, context, now))
    .map(({ key }) => {
      const message = `${key} has moved routes but no successor.`;
      return faultAt(context.source, ['routes', key, 'moved'], message, 'Add the next major, or remove `moved`.');
    });

// The number of routes that a message lists.
const maxListed = 3;

/**
 * Routes of a deprecated or retired version that are neither in the contract of its successor nor in `moved`. Their responses
 * have no link to the successor. If that is intended, `moved` must map them to null.
 */
export const routesWithoutCounterpart: WarningRule = (context, now) =>
  context.entries.flatMap((entry) => {
    const { key, route } = entry;
    const next = successorEvenIfRetired(entry, context);
    if ((route.deprecation === undefined && !route.retired) || !next || !servedSuccessorOf(entry, context, now))
      return [];
    const [ownContract, nextContract] = [contractOf(context, key), contractOf(context, next.key)];
    if (!ownContract || !nextContract) return [];
    const moved = new PathTable(Object.entries(route.moved ?? {}));
    const missing = ownContract.paths
      .entries()
      .map(([path]) => path)
      .filter((path) => moved.find(path) === undefined && nextContract.paths.find(path) === undefined);
    if (missing.length === 0) return [];
    const message = `The contract of ${next.key} has no ${listInWords(missing)}, so clients of ${missing.length === 1 ? 'it' : 'them'} get no successor-version link.`;
    const remedy = `Write under moved where ${missing.length === 1 ? 'it is' : 'they are'} now (version-gateway moved ${key} ${next.key}), or write null.`;
    return [faultAt(context.source, ['routes', key, 'contract'], message, remedy)];
  });

/** Without a contract, the gateway does not know which objects may get unknown members. */
export const greaseWithoutContract: WarningRule = (context) =>
  context.entries
    .filter(({ key, route }) => route.grease === 'request' && !context.contracts.has(key))
    .map(({ key }) => {
      const message = `${key} has no contract, so its responses never contain unknown members.`;
      return faultAt(context.source, ['routes', key, 'grease'], message, 'Add contract, or remove grease.');
    });

function servedSuccessorOf(entry: RouteEntry, context: RuleContext, now: number): RouteEntry | undefined {
  return successorEntry(entry, context, (other) => isInService(other, now));
}

function contractOf({ contracts }: RuleContext, key: string): Contract | undefined {
  const contract = contracts.get(key);
  return isUnusable(contract) ? undefined : contract;
}

function listInWords(paths: readonly string[]): string {
  const shown = paths.slice(0, maxListed).map(printable);
  const more = paths.length - shown.length;
  if (more > 0) return `${shown.join(', ')} and ${more} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
