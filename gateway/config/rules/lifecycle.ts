import type { Fault } from '../fault.ts';
import { faultAt, has } from '../source.ts';
import { isPrefix, routeKeys } from './routes.ts';
import { type ConfigRule, dateText, type RouteEntry, type RuleContext } from './rule.ts';

/** A client that reads `Sunset` expects a `Deprecation` before it. */
export const sunsetNeedsDeprecation: ConfigRule = ({ source, entries }) =>
  entries
    .filter(({ key, route }) => route.sunset !== undefined && !has(source, ['routes', key, 'deprecation']))
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
export const successorExists: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route: { successor } }) => {
    if (successor === undefined || has(source, ['routes', successor])) return [];
    const others = routeKeys(source).filter((other) => other !== key && isPrefix(other));
    const remedy = others.length > 0 ? `Write one of ${others.join(', ')}, or remove it.` : 'Remove it.';
    return [faultAt(source, ['routes', key, 'successor'], `${successor} is not a version of this file.`, remedy)];
  });

/** Successors must not form a cycle: clients would be sent back and forth. */
export const successorsHaveNoCycle: ConfigRule = (context) =>
  versionsWithLowerSuccessor(context).flatMap(({ entry, chain }) => {
    if (chain.at(-1) !== entry.key) return [];
    const message =
      chain.length === 2 ? `${entry.key} is its own successor.` : `The successors form a cycle: ${chain.join(' → ')}.`;
    const path = ['routes', entry.key, 'successor'];
    return [faultAt(context.source, path, message, 'Name a higher major, or remove it.')];
  });

/** The successor of a major is a higher major. */
export const successorIsHigher: ConfigRule = (context) =>
  versionsWithLowerSuccessor(context).flatMap(({ entry, chain }) => {
    if (chain.at(-1) === entry.key) return [];
    const message = `${entry.route.successor} is lower than ${entry.key} itself.`;
    const path = ['routes', entry.key, 'successor'];
    return [faultAt(context.source, path, message, 'Name a higher major, or remove it.')];
  });

/**
 * The versions whose configured successor is not a higher major, each with the chain of its successors until it ends or
 * repeats. Every cycle contains at least one of them.
 */
function versionsWithLowerSuccessor({ entries }: RuleContext): { entry: RouteEntry; chain: string[] }[] {
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const next = ({ major, route }: RouteEntry): RouteEntry | undefined =>
    route.successor === undefined ? entries.find((other) => other.major > major) : byKey.get(route.successor);
  return entries.flatMap((entry) => {
    const successor = entry.route.successor === undefined ? undefined : next(entry);
    if (!successor || successor.major > entry.major) return [];
    const chain = [entry.key];
    const seen = new Set<string>();
    for (
      let at: RouteEntry | undefined = successor;
      at && !seen.has(at.key);
      at = at === entry ? undefined : next(at)
    ) {
      chain.push(at.key);
      seen.add(at.key);
    }
    return [{ entry, chain }];
  });
}

/** The placeholder for the reason in the line that a refused reload prints; the rule rejects it as a reason. */
export const forcePlaceholder = '<why this is right>';

/** `guard.force` may name a version that is no longer in the file. Each entry needs a prefix and a reason. */
export const forceNamesVersions: ConfigRule = ({ source, draft }) =>
  Object.entries(draft.guard.force).flatMap(([key, reason]): Fault[] => {
    const path = ['guard', 'force', key];
    if (!isPrefix(key))
      return [faultAt(source, path, `${key} is not the prefix of a version.`, 'Write /v1: "the reason".', 'key')];
    // The text of the placeholder without its brackets is not a reason, either.
    const isPlaceholder = /^\s*<.*>\s*$/.test(reason) || reason.trim() === forcePlaceholder.slice(1, -1);
    return isPlaceholder
      ? [faultAt(source, path, `"${reason}" is a placeholder.`, 'Write the reason for the exception.')]
      : [];
  });
