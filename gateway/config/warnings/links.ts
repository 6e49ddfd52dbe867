import { isNoContract } from '../contracts.ts';
import type { Context } from '../rules/rule.ts';
import type { Contract } from '../snapshot.ts';
import { faultAt } from '../source.ts';
import { successorOf } from './living.ts';
import type { Warning } from './warning.ts';

/** Links to the same resource in the successor are only checked where both contracts are known. */
export const lonelyContract: Warning = (context, now) =>
  context.entries.flatMap((entry) => {
    const next = successorOf(entry, context, now);
    if (entry.route.deprecation === undefined || !next) return [];
    const [own, others] = [contractOf(context, entry.key), contractOf(context, next.key)];
    if (!own || others) return [];
    const message = `${next.key} has no contract, so links from ${entry.key} to it cannot be checked and may be broken.`;
    return [faultAt(context.source, ['routes', entry.key, 'contract'], message, `Add a contract to ${next.key}.`)];
  });

/** A row that leads to a route which the successor does not have makes no link. */
export const movedIntoNothing: Warning = (context, now) =>
  context.entries.flatMap((entry) => {
    const next = successorOf(entry, context, now);
    const paths = next && contractOf(context, next.key)?.paths;
    if (!paths) return [];
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

/** `moved` speaks of a successor. */
export const movedNowhere: Warning = (context, now) =>
  context.entries
    .filter((entry) => Object.keys(entry.route.moved ?? {}).length > 0 && !successorOf(entry, context, now))
    .map(({ key }) => {
      const message = `${key} has moved routes and no successor to which they could have moved.`;
      return faultAt(context.source, ['routes', key, 'moved'], message, 'Add the next major, or remove it.');
    });

function contractOf({ contracts }: Context, key: string): Contract | undefined {
  const contract = contracts.get(key);
  return isNoContract(contract) ? undefined : contract;
}
