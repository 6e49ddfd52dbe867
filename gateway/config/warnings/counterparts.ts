import { PathTable } from '../../shared/pathTable.ts';
import { printable } from '../../shared/text.ts';
import { isNoContract } from '../contracts.ts';
import type { Context, Entry } from '../rules/rule.ts';
import type { Contract } from '../snapshot.ts';
import { faultAt } from '../source.ts';
import { successorOf } from './living.ts';
import type { Warning } from './warning.ts';

// Enough to see what it is about.
const named = 3;

/**
 * Routes of a version that is going, which its successor lacks and `moved` does not mention. No broken link is ever sent;
 * their clients get none, which is right only where somebody has said so.
 */
export const linksLost: Warning = (context, now) =>
  context.entries.flatMap((entry) => {
    const { key, route } = entry;
    const next = nextOf(entry, context);
    if ((route.deprecation === undefined && !route.retired) || !next || !successorOf(entry, context, now)) return [];
    const [own, others] = [contractOf(context, key), contractOf(context, next.key)];
    if (!own || !others) return [];
    const moved = new PathTable(Object.entries(route.moved ?? {}));
    const lost = own.paths
      .entries()
      .map(([path]) => path)
      .filter((path) => moved.find(path) === undefined && others.paths.find(path) === undefined);
    if (lost.length === 0) return [];
    const message = `The contract of ${next.key} has no ${list(lost)}, so clients of ${lost.length === 1 ? 'it' : 'them'} get no successor-version link.`;
    const remedy = `Say under moved where ${lost.length === 1 ? 'it is' : 'they are'} now (version-gateway moved ${key} ${next.key}), or write null.`;
    return [faultAt(context.source, ['routes', key, 'contract'], message, remedy)];
  });

/** The next major, live or not: `moved` and links go from one to the next. */
function nextOf(entry: Entry, { entries }: Context): Entry | undefined {
  const { successor } = entry.route;
  if (successor !== undefined) return entries.find(({ key }) => key === successor);
  return entries[entries.indexOf(entry) + 1];
}

function contractOf({ contracts }: Context, key: string): Contract | undefined {
  const contract = contracts.get(key);
  return isNoContract(contract) ? undefined : contract;
}

function list(paths: readonly string[]): string {
  const shown = paths.slice(0, named).map(printable);
  const more = paths.length - shown.length;
  if (more > 0) return `${shown.join(', ')} and ${more} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
