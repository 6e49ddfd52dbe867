import { isNoContract } from '../contracts.ts';
import { faultAt, has } from '../source.ts';
import type { Context, Entry, Rule } from './rule.ts';

/** A guide leads somewhere. */
export const guideNeedsSuccessor: Rule = (context) =>
  guided(context)
    .filter((entry) => successorOf(entry, context) === undefined)
    .filter(({ route }) => route.successor === undefined)
    .map(({ key }) => {
      const message = `${key} has no successor for a guide to lead to.`;
      return faultAt(context.source, ['routes', key, 'guide'], message, 'Add the next major, or remove guide.');
    });

/** It is made from two contracts. */
export const guideNeedsContracts: Rule = (context) =>
  pairs(context).flatMap(({ entry: { key }, both }) => {
    const missing = both.find((one) => !has(context.source, ['routes', one.key, 'contract']));
    if (!missing) return [];
    const message = `The guide is made from the contracts of ${both.map((one) => one.key).join(' and ')}, and ${missing.key} has none.`;
    return [
      faultAt(context.source, ['routes', key, 'guide'], message, `Add a contract to ${missing.key}, or remove guide.`),
    ];
  });

/** A guide quotes fields, types and examples: of a contract that is kept back it would publish the greater part. */
export const guideTellsNoSecrets: Rule = (context) =>
  pairs(context).flatMap(({ entry: { key }, both }) => {
    const hidden = both.find((one) => {
      const contract = context.contracts.get(one.key);
      return !isNoContract(contract) && contract?.publish === false;
    });
    if (!hidden) return [];
    const message = `The guide would publish what the contract of ${hidden.key} says, which has publish: false.`;
    return [faultAt(context.source, ['routes', key, 'guide'], message, 'Publish the contract, or remove guide.')];
  });

function guided({ entries }: Context): Entry[] {
  return entries.filter(({ route }) => route.guide);
}

function pairs(context: Context): { entry: Entry; both: readonly Entry[] }[] {
  return guided(context).flatMap((entry) => {
    const next = successorOf(entry, context);
    return next ? [{ entry, both: [entry, next] }] : [];
  });
}

/** As the file alone tells it: without the day on which a sunset passes. */
function successorOf(entry: Entry, { entries }: Context): Entry | undefined {
  const { successor } = entry.route;
  if (successor !== undefined) return entries.find(({ key }) => key === successor);
  return entries.find(({ major, route }) => major > entry.major && !route.retired);
}
