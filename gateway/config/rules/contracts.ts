import { resolve } from 'node:path';
import { certificatesProblem } from '../../shared/certificates.ts';
import type { Fault, Path } from '../fault.ts';
import { parseNames } from '../names.ts';
import { isUnusable } from '../snapshot.ts';
import { faultAt, hasValue } from '../source.ts';
import { storeFiles } from '../storeUrl.ts';
import { type ConfigRule, type RouteEntry, type RuleContext, successorEntry, type WarningRule } from './rule.ts';

/** A contract must exist and be an OpenAPI document. */
export const contractsAreReadable: ConfigRule = ({ source, entries, contracts }) =>
  entries.flatMap(({ key, route }) => {
    const contract = contracts.get(key);
    if (!route.contract || !isUnusable(contract)) return [];
    return [
      faultAt(source, ['routes', key, 'contract'], `${route.contract.file} ${contract.problem}.`, contract.remedy),
    ];
  });

/** Certificates and keys must be readable, and a file of certificates must have one. */
export const certificatesAreReadable: ConfigRule = ({ source, config, entries, files }) => {
  const certificateFiles: [path: Path, file: string | undefined, isKey?: boolean][] = [
    [['defaults', 'tls', 'ca'], config.defaults.tls.ca],
    [['gateway', 'tls', 'cert'], config.gateway.tls?.cert],
    [['gateway', 'tls', 'key'], config.gateway.tls?.key, true],
    ...entries.map(({ key, route }): [Path, string | undefined] => [['routes', key, 'tls', 'ca'], route.tls?.ca]),
    ...storeFiles(config.fleet.store ?? '').map(({ parameter, file }): [Path, string, boolean] => [
      ['fleet', 'store'],
      file,
      parameter === 'sslkey',
    ]),
  ];
  return certificateFiles.flatMap(([path, file, isKey]) => {
    if (file === undefined) return [];
    const content = files.read(resolve(source.folder, file));
    if ('reason' in content)
      return [faultAt(source, path, `${file} cannot be read: ${content.reason}.`, content.remedy)];
    const problem = isKey ? undefined : certificatesProblem(content.text());
    return problem === undefined
      ? []
      : [faultAt(source, path, `${file} ${problem}.`, 'Name a file with certificates in PEM form.')];
  });
};

/** The file of client names must be readable and be a map of names. */
export const namesAreReadable: ConfigRule = ({ source, config, files }) => {
  const file = config.usage.names;
  if (file === undefined) return [];
  const content = files.read(resolve(source.folder, file));
  if ('reason' in content) {
    return [faultAt(source, ['usage', 'names'], `${file} cannot be read: ${content.reason}.`, content.remedy)];
  }
  const namesOrProblem = parseNames(content.text());
  if (typeof namesOrProblem !== 'string') return [];
  const remedy = 'Write one line for each client: "user-agent:curl": the name.';
  return [faultAt(source, ['usage', 'names'], `${file} ${namesOrProblem}.`, remedy)];
};

/** A migration guide needs a successor. */
export const guideNeedsSuccessor: ConfigRule = (context) =>
  entriesWithGuide(context)
    .filter((entry) => successorIgnoringSunsets(entry, context) === undefined)
    // Another rule reports a `successor` that does not exist.
    .filter(({ route }) => route.successor === undefined)
    .map(({ key }) => {
      const message = `${key} has no successor, but a guide describes the migration to one.`;
      return faultAt(context.source, ['routes', key, 'guide'], message, 'Add the next major, or remove guide.');
    });

/** A migration guide is generated from two contracts. */
export const guideNeedsContracts: ConfigRule = (context) =>
  guidePairs(context).flatMap(({ entry: { key }, pair }) => {
    const missing = pair.find((one) => !hasValue(context.source, ['routes', one.key, 'contract']));
    if (!missing) return [];
    const message = `The guide is generated from the contracts of ${pair.map((one) => one.key).join(' and ')}, and ${missing.key} has none.`;
    return [
      faultAt(context.source, ['routes', key, 'guide'], message, `Add a contract to ${missing.key}, or remove guide.`),
    ];
  });

/** A guide quotes fields, types and examples, so it would publish most of a hidden contract. */
export const guideQuotesPublishedContracts: ConfigRule = (context) =>
  guidePairs(context).flatMap(({ entry: { key }, pair }) => {
    const hidden = pair.find((one) => {
      const contract = context.contracts.get(one.key);
      return !isUnusable(contract) && contract?.publish === false;
    });
    if (!hidden) return [];
    const message = `The guide would publish parts of the contract of ${hidden.key}, which has publish: false.`;
    return [faultAt(context.source, ['routes', key, 'guide'], message, 'Publish the contract, or remove guide.')];
  });

/** Only OpenAPI 3 documents are compared, with each other and with responses. */
export const swaggerContract: WarningRule = (context) => {
  const isSwagger = ({ key }: RouteEntry): boolean => {
    const contract = context.contracts.get(key);
    return !isUnusable(contract) && contract?.isSwagger === true;
  };
  const faultOf = (key: string, option: 'guide' | 'drift', { route }: RouteEntry, consequence: string): Fault => {
    const message = `${route.contract?.file} is Swagger 2.0, so ${consequence}.`;
    return faultAt(context.source, ['routes', key, option], message, `Convert it to OpenAPI 3, or remove ${option}.`);
  };
  const ofGuides = guidePairs(context).flatMap(({ entry, pair }) => {
    const unusable = pair.find(isSwagger);
    return unusable ? [faultOf(entry.key, 'guide', unusable, `the guide of ${entry.key} cannot be written`)] : [];
  });
  const ofDrifts = context.entries
    .filter((entry) => entry.route.drift !== undefined && isSwagger(entry))
    .map((entry) => faultOf(entry.key, 'drift', entry, `no response of ${entry.key} is compared with it`));
  return [...ofGuides, ...ofDrifts];
};

function entriesWithGuide({ entries }: RuleContext): RouteEntry[] {
  return entries.filter(({ route }) => route.guide);
}

function guidePairs(context: RuleContext): { entry: RouteEntry; pair: readonly RouteEntry[] }[] {
  return entriesWithGuide(context).flatMap((entry) => {
    const next = successorIgnoringSunsets(entry, context);
    return next ? [{ entry, pair: [entry, next] }] : [];
  });
}

/** The version that clients should move to. Ignores sunsets. */
function successorIgnoringSunsets(entry: RouteEntry, context: RuleContext): RouteEntry | undefined {
  return successorEntry(entry, context, ({ route }) => !route.retired);
}
