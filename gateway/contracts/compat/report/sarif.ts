import { pointerOf } from '../../../contract/document/located.ts';
import type { TextPosition } from '../../../contract/document/positions.ts';
import { dayText } from '../../../shared/instant.ts';
import { safeText } from '../../../shared/text.ts';
import type { Site } from '../judge/findings.ts';
import {
  type CompatReport,
  type Exemption,
  type PairReport,
  type PlacedFinding,
  relevantFindings,
} from '../judge/judge.ts';
import { rules } from '../rules/rules.ts';
import { looksRenamedPhrase, routeInWords } from '../rules/words.ts';
import { existsInContract, notesOf, staleInWords, uriOf, type WorkingTree } from './words.ts';

export interface SarifOptions extends WorkingTree {
  /** The version of this program. */
  readonly version: string;
}

/** The part of SARIF 2.1.0 that a report needs. */
export interface SarifLog {
  readonly $schema: string;
  readonly version: '2.1.0';
  readonly runs: readonly [SarifRun];
}

interface SarifRun {
  readonly tool: { readonly driver: SarifDriver };
  readonly columnKind: 'utf16CodeUnits';
  readonly invocations: readonly SarifInvocation[];
  readonly results: readonly SarifResult[];
}

interface SarifDriver {
  readonly name: string;
  readonly version: string;
  readonly rules: readonly SarifRule[];
}

export interface SarifRule {
  readonly id: string;
  readonly shortDescription: SarifText;
  readonly fullDescription: SarifText;
  readonly defaultConfiguration: { readonly level: SarifResult['level'] };
  readonly properties?: { readonly basis: string; readonly direction: string };
}

export interface SarifInvocation {
  readonly executionSuccessful: boolean;
  readonly toolConfigurationNotifications: readonly { readonly level: 'error'; readonly message: SarifText }[];
  readonly toolExecutionNotifications: readonly { readonly level: 'warning'; readonly message: SarifText }[];
  readonly ruleConfigurationOverrides: readonly {
    readonly descriptor: { readonly id: string };
    readonly configuration: { readonly enabled: false };
  }[];
}

export interface SarifResult {
  readonly ruleId: string;
  readonly ruleIndex: number;
  readonly level: 'error' | 'warning' | 'note';
  readonly message: SarifText;
  readonly locations: readonly [SarifLocation];
  readonly relatedLocations?: readonly SarifLocation[];
  readonly partialFingerprints: { readonly 'finding/v1': string };
  readonly suppressions: readonly { kind: 'external'; status: 'accepted'; justification: string }[];
  readonly properties: { readonly routes: readonly string[]; readonly routeCount: number; readonly calls?: number };
}

interface SarifLocation {
  readonly physicalLocation: {
    readonly artifactLocation: { readonly uri: string };
    readonly region?: { readonly startLine: number; readonly startColumn: number };
  };
  readonly logicalLocations?: readonly { readonly fullyQualifiedName: string }[];
  readonly message?: SarifText;
}

interface SarifText {
  readonly text: string;
}

const sarifLevels = { error: 'error', warn: 'warning', info: 'note' } as const;
const basisInWords = {
  core: 'The versioning rules state it.',
  extended: 'It follows from the versioning rules.',
  silent: 'The versioning rules do not cover it.',
  compatible: 'It is compatible.',
} as const;
// The most routes in the properties of a result. `routeCount` counts all.
const maxListedRoutes = 100;

/** The report for code scanning (OASIS SARIF 2.1.0). Exempted findings are included as suppressed. */
export function asSarif(report: CompatReport, options: SarifOptions): SarifLog {
  const results = report.pairs.flatMap((pair) => [
    ...relevantFindings(pair).map((finding) => resultOf(finding, pair, options)),
    ...pair.exempted.map(({ finding, exemption }) => resultOf(finding, pair, options, exemption)),
  ]);
  const describedRules = rules.map(({ id, level, basis, direction, policy }) => ({
    id,
    shortDescription: { text: policy },
    fullDescription: { text: `${policy} ${basisInWords[basis]}` },
    defaultConfiguration: { level: sarifLevels[level] },
    properties: { basis, direction },
  }));
  return sarifLog(options.version, describedRules, invocationOf(report), results);
}

/** A log of one run. `version`: of this program. */
export function sarifLog(
  version: string,
  describedRules: readonly SarifRule[],
  invocation: SarifInvocation,
  results: readonly SarifResult[],
): SarifLog {
  const driver = { name: 'version-gateway', version, rules: describedRules };
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, columnKind: 'utf16CodeUnits', invocations: [invocation], results }],
  };
}

function invocationOf(report: CompatReport): SarifInvocation {
  const { staleExemptions, rulesOff } = report;
  return {
    executionSuccessful: true,
    toolConfigurationNotifications: staleExemptions.map((one) => ({
      level: 'error',
      message: sarifTextOf(staleInWords(one)),
    })),
    toolExecutionNotifications: notesOf(report).map((note) => ({ level: 'warning', message: sarifTextOf(note) })),
    ruleConfigurationOverrides: rulesOff.map((id) => ({ descriptor: { id }, configuration: { enabled: false } })),
  };
}

function resultOf(
  finding: PlacedFinding,
  pair: PairReport,
  workingTree: WorkingTree,
  exemption?: Exemption,
): SarifResult {
  const { rule, level, sentence, routes, old, oldAt, renamedTo, fingerprint, calls } = finding;
  const related = existsInContract(old)
    ? [{ ...locationOf(old, oldAt, workingTree), message: { text: 'Before the change' } }]
    : [];
  return {
    ruleId: rule,
    ruleIndex: rules.findIndex(({ id }) => id === rule),
    level: sarifLevels[level],
    message: sarifTextOf(renamedTo === undefined ? sentence : `${sentence}. It ${looksRenamedPhrase(renamedTo)}.`),
    locations: [mainLocation(finding, pair, workingTree)],
    ...(related.length > 0 ? { relatedLocations: related } : {}),
    partialFingerprints: { 'finding/v1': fingerprint },
    suppressions: exemption ? [suppressionOf(exemption)] : [],
    properties: {
      routes: routes.slice(0, maxListedRoutes).map((route) => safeText(routeInWords(route))),
      routeCount: routes.length,
      ...(calls === undefined ? {} : { calls }),
    },
  };
}

/** Some viewers render `[a](b)` as a link. Braces are safe: they are placeholders only in a message with `arguments`. */
export function sarifTextOf(text: string): SarifText {
  return { text: safeText(text, 1000).replaceAll('](', '] (') };
}

/** The place in the new contract, or else in the old contract. If neither has one, only the file of the new contract. */
function mainLocation(
  { old, oldAt, new: newSite, newAt }: PlacedFinding,
  pair: PairReport,
  workingTree: WorkingTree,
): SarifLocation {
  if (newSite && (existsInContract(newSite) || newAt)) return locationOf(newSite, newAt, workingTree);
  if (existsInContract(old)) return locationOf(old, oldAt, workingTree);
  return { physicalLocation: { artifactLocation: { uri: uriOf(pair.new, workingTree) } } };
}

export function locationOf(
  { place }: Pick<Site, 'place'>,
  at: TextPosition | undefined,
  workingTree: WorkingTree,
): SarifLocation {
  const pointer = pointerOf(place);
  return {
    physicalLocation: {
      artifactLocation: { uri: uriOf(place.file.name, workingTree) },
      ...(at ? { region: { startLine: at.line, startColumn: at.column } } : {}),
    },
    ...(pointer === '' ? {} : { logicalLocations: [{ fullyQualifiedName: safeText(pointer, 1000) }] }),
  };
}

function suppressionOf({ reason, until }: Exemption): SarifResult['suppressions'][number] {
  return { kind: 'external', status: 'accepted', justification: `${safeText(reason, 1000)} (until ${dayText(until)})` };
}
