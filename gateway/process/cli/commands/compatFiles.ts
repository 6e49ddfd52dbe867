import { type CompatSettings, rootApi } from '../../../config/api.ts';
import type { Snapshot } from '../../../config/snapshot.ts';
import type { Documents } from '../../../contract/document/documents.ts';
import { below } from '../../../contract/document/located.ts';
import { openContract } from '../../../contract/document/open.ts';
import { contractFaults } from '../../../contract/document/validate.ts';
import { CompareError } from '../../../contract/failure.ts';
import { majorsBetween } from '../../../contract/routes.ts';
import {
  type ComparedContracts,
  type CompatReport,
  compareAndJudge,
  Exemptions,
  type JudgeSettings,
} from '../../../contracts/compat/judge/judge.ts';
import type { RuleLevel } from '../../../contracts/compat/rules/rules.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { Networks } from '../../../shared/httpClient.ts';
import { plural } from '../../../shared/text.ts';
import { type Io, UsageError } from '../io.ts';

export interface ComparisonOptions {
  /** A git reference. */
  readonly against?: string;
  readonly config?: string;
  /** Rule → the level that the command line sets. */
  readonly rule?: ReadonlyMap<string, RuleLevel>;
  readonly allowRemote?: boolean;
  readonly remoteNetworks?: Networks;
  readonly validate?: boolean;
}

export interface ComparisonResult {
  readonly report: CompatReport;
  /** The names of the contracts are relative to this folder. */
  readonly folder: string;
}

export interface Progress {
  show(step: string): void;
}

/** Compares two contracts named on the command line. @throws CompareError, UsageError, UnreadableFileError */
export async function compareFiles(
  older: string,
  newer: string,
  options: ComparisonOptions,
  io: Io,
  progress: Progress,
): Promise<ComparisonResult> {
  if (older === '-' && newer === '-') throw new UsageError('Only one of the two contracts can be standard input.');
  const snapshot = options.config === undefined ? undefined : await settingsFrom(options.config, io);
  const [before, after] = [
    await openForCompat(older, options, io, progress),
    await openForCompat(newer, options, io, progress),
  ];
  if (!describesRoutes(before) && !describesRoutes(after)) {
    const remedy = 'Name the contract that refers to it.';
    throw new CompareError(newer, 'has neither `paths` nor `webhooks`: it has no routes to compare', remedy);
  }
  const majors = majorsBetween(before, after);
  // `past`: two revisions of one contract.
  const pair: ComparedContracts = majors
    ? { title: `/${majors.old} → /${majors.new}`, between: 'majors', old: before, new: after, versions: majors }
    : { title: '', between: 'past', old: before, new: after, versions: {} };
  const settings = judgeSettings(snapshot && rootApi(snapshot).compat, options);
  progress.show('comparing');
  const judged = compareAndJudge(pair, settings);
  // An exemption that matches nothing here may belong to another contract, so only expired exemptions are reported.
  const staleExemptions = settings.exemptions.expired;
  const report = { pairs: [judged], staleExemptions, rulesOff: rulesOff(settings.levels), notCompared: [] };
  return { report, folder: io.cwd };
}

/** Whether a contract lists routes; the list may be empty. A document of shared schemas has none. */
function describesRoutes({ root }: Documents): boolean {
  return ['paths', 'webhooks'].some((key) => below(root, key).value !== undefined);
}

/** Reads a routes.yaml. The code for it is imported on demand, because a comparison of two files without --config does not need it. */
async function settingsFrom(file: string, io: Io): Promise<Snapshot> {
  const { snapshotOf } = await import('../options.ts');
  return snapshotOf(file, io);
}

/** The rules that are switched off. */
export function rulesOff(levels: JudgeSettings['levels']): string[] {
  return [...levels].flatMap(([id, level]) => (level === 'off' ? [id] : []));
}

/** The rules and exemptions of an API. Levels of the command line override those of the file. */
export function judgeSettings(
  { rules, exempt }: CompatSettings = { rules: new Map(), exempt: [] },
  { rule: givenLevels = new Map() }: Pick<ComparisonOptions, 'rule'>,
): JudgeSettings {
  return {
    levels: new Map([...rules, ...givenLevels]),
    exemptions: new Exemptions(exempt, systemClock.now()),
    callsOf: () => undefined,
  };
}

/** Reads a contract, and validates it if `--validate` is set. @throws CompareError */
export async function openForCompat(
  reference: string,
  { allowRemote = false, remoteNetworks: networks = 'any', validate }: ComparisonOptions,
  io: Io,
  progress: Progress,
  cwd = io.cwd,
): Promise<Documents> {
  progress.show(`reading ${reference}`);
  const stdin = io.stdin ?? (() => '');
  const documents = await openContract(reference, { cwd, stdin, allowRemote, remote: { networks } });
  const faults = validate ? contractFaults(documents) : [];
  if (faults.length === 0) return documents;
  const lines = faults.map(({ where, message, remedy }) => `  ${where}: ${message}.  ${remedy}`);
  const problem = `the contract is not valid: ${plural(faults.length, 'fault')}`;
  throw new CompareError(reference, problem, `Correct it.\n${lines.join('\n')}`);
}
