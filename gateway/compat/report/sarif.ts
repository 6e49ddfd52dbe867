import { rules } from '../rules/rules.ts';
import type { CompatReport } from './report.ts';
import { type SarifResult, type SarifText, sarifLevels, sarifResult, sarifText } from './sarifResult.ts';
import type { Base } from './sides.ts';
import { judgedOf } from './summary.ts';
import { staleInWords } from './words.ts';

export interface SarifOptions extends Base {
  /** Of this program. */
  readonly version: string;
}

/** As much of SARIF 2.1.0 as a report needs. */
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
  readonly rules: readonly {
    readonly id: string;
    readonly shortDescription: SarifText;
    readonly fullDescription: SarifText;
    readonly defaultConfiguration: { readonly level: SarifResult['level'] };
    readonly properties: { readonly basis: string; readonly direction: string };
  }[];
}

interface SarifInvocation {
  readonly executionSuccessful: boolean;
  readonly toolConfigurationNotifications: readonly { readonly level: 'error'; readonly message: SarifText }[];
  readonly toolExecutionNotifications: readonly { readonly level: 'warning'; readonly message: SarifText }[];
  readonly ruleConfigurationOverrides: readonly {
    readonly descriptor: { readonly id: string };
    readonly configuration: { readonly enabled: false };
  }[];
}

/** For code scanning (OASIS SARIF 2.1.0). What was let through is there as suppressed. */
export function asSarif(report: CompatReport, options: SarifOptions): SarifLog {
  const results = report.comparings.flatMap((comparing) => [
    ...judgedOf(comparing).map((finding) => sarifResult(finding, comparing, options, undefined)),
    ...comparing.exempted.map(({ finding, exemption }) => sarifResult(finding, comparing, options, exemption)),
  ]);
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: driver(options.version) },
        columnKind: 'utf16CodeUnits',
        invocations: [invocation(report)],
        results,
      },
    ],
  };
}

function driver(version: string): SarifDriver {
  return {
    ...{ name: 'version-gateway', version },
    rules: rules.map(({ id, level, basis, direction, policy }) => ({
      ...{ id, shortDescription: { text: policy } },
      fullDescription: { text: `${policy} ${basisInWords[basis]}` },
      ...{ defaultConfiguration: { level: sarifLevels[level] }, properties: { basis, direction } },
    })),
  };
}

const basisInWords = {
  core: 'The versioning rules say so word for word.',
  extended: 'It follows from the versioning rules.',
  silent: 'The versioning rules say nothing about it.',
  compatible: 'It is compatible.',
} as const;

function invocation({ stale, off, notes }: CompatReport): SarifInvocation {
  return {
    executionSuccessful: true,
    toolConfigurationNotifications: stale.map((one) => ({ level: 'error', message: sarifText(staleInWords(one)) })),
    toolExecutionNotifications: notes.map((note) => ({ level: 'warning', message: sarifText(note) })),
    ruleConfigurationOverrides: off.map((id) => ({ descriptor: { id }, configuration: { enabled: false } })),
  };
}
