import { faultAt, has } from '../source.ts';
import { isPrefix, routeKeys } from './prefixes.ts';
import type { Context, Entry, Rule } from './rule.ts';

/** Clients are only ever sent to a version of this file. */
export const successorExists: Rule = ({ source, entries }) =>
  entries.flatMap(({ key, route: { successor } }) => {
    if (successor === undefined || has(source, ['routes', successor])) return [];
    const others = routeKeys(source).filter((other) => other !== key && isPrefix(other));
    const remedy = others.length > 0 ? `Write one of ${others.join(', ')}, or remove it.` : 'Remove it.';
    return [faultAt(source, ['routes', key, 'successor'], `${successor} is not a version of this file.`, remedy)];
  });

/** A chain of successors that comes back would send clients round in circles. */
export const successorsDoNotCircle: Rule = (context) =>
  backward(context).flatMap(({ entry, chain }) => {
    if (chain.at(-1) !== entry.key) return [];
    const circle =
      chain.length === 2
        ? `${entry.key} is its own successor.`
        : `The successors go in a circle: ${chain.join(' → ')}.`;
    const path = ['routes', entry.key, 'successor'];
    return [faultAt(context.source, path, circle, 'Name a higher major, or remove it.')];
  });

/** The successor of a major is a higher one. */
export const successorIsHigher: Rule = (context) =>
  backward(context).flatMap(({ entry, chain }) => {
    if (chain.at(-1) === entry.key) return [];
    const message = `${entry.route.successor} is lower than ${entry.key} itself.`;
    const path = ['routes', entry.key, 'successor'];
    return [faultAt(context.source, path, message, 'Name a higher major, or remove it.')];
  });

/** Every circle has a step that leads down or stays: from there, where the chain leads, until it ends or comes back. */
function backward({ entries }: Context): { entry: Entry; chain: string[] }[] {
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const next = ({ major, route }: Entry): Entry | undefined =>
    route.successor === undefined ? entries.find((other) => other.major > major) : byKey.get(route.successor);
  return entries.flatMap((entry) => {
    const successor = entry.route.successor === undefined ? undefined : next(entry);
    if (!successor || successor.major > entry.major) return [];
    const chain = [entry.key];
    const seen = new Set<string>();
    for (let at: Entry | undefined = successor; at && !seen.has(at.key); at = at === entry ? undefined : next(at)) {
      chain.push(at.key);
      seen.add(at.key);
    }
    return [{ entry, chain }];
  });
}
