import { resolve } from 'node:path';
import { isNoContract } from '../contracts.ts';
import type { Path } from '../fault.ts';
import { parseNames } from '../names.ts';
import { faultAt, has } from '../source.ts';
import type { ConfigRule, RouteEntry, RuleContext } from './rule.ts';

/** A contract that is named has to be there, and to be one. */
export const contractsAreReadable: ConfigRule = ({ source, entries, contracts }) =>
  entries.flatMap(({ key, route }) => {
    const contract = contracts.get(key);
    if (!route.contract || !isNoContract(contract)) return [];
    return [
      faultAt(source, ['routes', key, 'contract'], `${route.contract.file} ${contract.problem}.`, contract.remedy),
    ];
  });

/** Certificates and keys that are named have to be there. */
export const certificatesAreReadable: ConfigRule = ({ source, draft, entries, files }) => {
  const named: [path: Path, file: string | undefined][] = [
    [['defaults', 'tls', 'ca'], draft.defaults.tls.ca],
    [['gateway', 'tls', 'cert'], draft.gateway.tls?.cert],
    [['gateway', 'tls', 'key'], draft.gateway.tls?.key],
    ...entries.map(({ key, route }): [Path, string | undefined] => [['routes', key, 'tls', 'ca'], route.tls?.ca]),
  ];
  return named.flatMap(([path, file]) => {
    const content = file === undefined ? undefined : files.read(resolve(source.folder, file));
    if (!content || !('reason' in content)) return [];
    return [faultAt(source, path, `${file} cannot be read: ${content.reason}.`, content.remedy)];
  });
};

/** A file of names has to be there, and to be a map of names. */
export const namesAreReadable: ConfigRule = ({ source, draft, files }) => {
  const file = draft.usage.names;
  if (file === undefined) return [];
  const content = files.read(resolve(source.folder, file));
  if ('reason' in content) {
    return [faultAt(source, ['usage', 'names'], `${file} cannot be read: ${content.reason}.`, content.remedy)];
  }
  const names = parseNames(content.text());
  if (typeof names !== 'string') return [];
  const remedy = 'Write one line a client: "user-agent:curl": the name.';
  return [faultAt(source, ['usage', 'names'], `${file} ${names}.`, remedy)];
};

/** A guide leads somewhere. */
export const guideNeedsSuccessor: ConfigRule = (context) =>
  guided(context)
    .filter((entry) => successorOf(entry, context) === undefined)
    .filter(({ route }) => route.successor === undefined)
    .map(({ key }) => {
      const message = `${key} has no successor for a guide to lead to.`;
      return faultAt(context.source, ['routes', key, 'guide'], message, 'Add the next major, or remove guide.');
    });

/** It is made from two contracts. */
export const guideNeedsContracts: ConfigRule = (context) =>
  pairs(context).flatMap(({ entry: { key }, both }) => {
    const missing = both.find((one) => !has(context.source, ['routes', one.key, 'contract']));
    if (!missing) return [];
    const message = `The guide is made from the contracts of ${both.map((one) => one.key).join(' and ')}, and ${missing.key} has none.`;
    return [
      faultAt(context.source, ['routes', key, 'guide'], message, `Add a contract to ${missing.key}, or remove guide.`),
    ];
  });

/** A guide quotes fields, types and examples: of a contract that is kept back it would publish the greater part. */
export const guideTellsNoSecrets: ConfigRule = (context) =>
  pairs(context).flatMap(({ entry: { key }, both }) => {
    const hidden = both.find((one) => {
      const contract = context.contracts.get(one.key);
      return !isNoContract(contract) && contract?.publish === false;
    });
    if (!hidden) return [];
    const message = `The guide would publish what the contract of ${hidden.key} says, which has publish: false.`;
    return [faultAt(context.source, ['routes', key, 'guide'], message, 'Publish the contract, or remove guide.')];
  });

function guided({ entries }: RuleContext): RouteEntry[] {
  return entries.filter(({ route }) => route.guide);
}

function pairs(context: RuleContext): { entry: RouteEntry; both: readonly RouteEntry[] }[] {
  return guided(context).flatMap((entry) => {
    const next = successorOf(entry, context);
    return next ? [{ entry, both: [entry, next] }] : [];
  });
}

/** As the file alone tells it: without the day on which a sunset passes. */
function successorOf(entry: RouteEntry, { entries }: RuleContext): RouteEntry | undefined {
  const { successor } = entry.route;
  if (successor !== undefined) return entries.find(({ key }) => key === successor);
  return entries.find(({ major, route }) => major > entry.major && !route.retired);
}
