import { resolve } from 'node:path';
import { isNoContract } from '../contracts.ts';
import type { Path } from '../mask.ts';
import { parseNames } from '../names.ts';
import { faultAt } from '../source.ts';
import type { Rule } from './rule.ts';

/** A contract that is named has to be there, and to be one. */
export const contractsAreReadable: Rule = ({ source, entries, contracts }) =>
  entries.flatMap(({ key, route }) => {
    const contract = contracts.get(key);
    if (!route.contract || !isNoContract(contract)) return [];
    return [
      faultAt(source, ['routes', key, 'contract'], `${route.contract.file} ${contract.problem}.`, contract.remedy),
    ];
  });

/** Certificates and keys that are named have to be there. */
export const certificatesAreReadable: Rule = ({ source, draft, entries, files }) => {
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
export const namesAreReadable: Rule = ({ source, draft, files }) => {
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
