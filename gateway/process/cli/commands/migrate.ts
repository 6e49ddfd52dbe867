import { writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { baseOf } from '../../../config/api.ts';
import type { Snapshot, Version } from '../../../config/snapshot.ts';
import { openContract } from '../../../contract/document/open.ts';
import { guideAsMarkdown } from '../../../contracts/compat/guide/markdown.ts';
import { type MovedProposals, proposeMoved } from '../../../contracts/compat/judge/moved.ts';
import { guidePage } from '../../../operate/discovery/guidePage.ts';
import { type GuideRequest, guideRequest } from '../../../operate/discovery/guideRequest.ts';
import { loadGuide } from '../../../operate/discovery/guideThread.ts';
import { systemClock } from '../../../shared/clock.ts';
import { reasonOf } from '../../../shared/fileSystem.ts';
import { printable } from '../../../shared/text.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import { configOption, formatOption, snapshotOf, versionArgument } from '../options.ts';
import { printedJson } from '../output/terminal.ts';

interface MigrateOptions {
  readonly config: string;
  readonly format: 'markdown' | 'html';
  readonly output?: string;
}

export const addMigrate: AddCommand = (program, io, finish) => {
  program
    .command('migrate')
    .description('Generate a migration guide for clients, from the contracts of two versions.')
    .argument('<old>', 'version to migrate from, such as /v1', versionArgument)
    .argument('<new>', 'version to migrate to, such as /v2', versionArgument)
    .addOption(configOption(io.cwd))
    .addOption(formatOption(['markdown', 'html']))
    .option('--output <file>', 'file to write (default: standard output)')
    .action(async (older: string, newer: string, options: MigrateOptions) =>
      finish(await migrate(older, newer, options, io)),
    );
};

/** @throws UnreadableFileError, CompareError, UsageError */
async function migrate(
  older: string,
  newer: string,
  { config, format, output }: MigrateOptions,
  io: Io,
): Promise<ExitCode> {
  const { guideRequest: request } = versionPair(older, newer, config, io);
  const guide = await loadGuide(request, io.cwd);
  const text = format === 'html' ? guidePage(guide) : guideAsMarkdown(guide);
  if (output === undefined) io.stdout.write(text);
  else writeOutput(output, text, io);
  return 0;
}

export function writeOutput(output: string, text: string, { cwd, stderr }: Io): void {
  try {
    writeFileSync(resolve(cwd, output), text);
  } catch (error) {
    throw new UsageError(`${output} cannot be written: ${reasonOf(error)}`);
  }
  stderr.write(`Wrote ${output}.\n`);
}

interface MovedOptions {
  readonly config: string;
  readonly format: 'yaml' | 'json';
}

export const addMoved: AddCommand = (program, io, finish) => {
  program
    .command('moved')
    .description('Propose rows for `moved`: routes of one version that have another path in a later version.')
    .argument('<old>', 'older version, such as /v1', versionArgument)
    .argument('<new>', 'newer version, such as /v2', versionArgument)
    .addOption(configOption(io.cwd))
    .addOption(formatOption(['yaml', 'json']))
    .action(async (older: string, newer: string, options: MovedOptions) =>
      finish(await moved(older, newer, options, io)),
    );
};

/** @throws UnreadableFileError, CompareError, UsageError */
async function moved(older: string, newer: string, { config, format }: MovedOptions, io: Io): Promise<ExitCode> {
  const { from, to, guideRequest: contractFiles } = versionPair(older, newer, config, io);
  const options = { cwd: io.cwd, stdin: () => '', allowRemote: false };
  const [before, after] = [
    await openContract(contractFiles.from.file, options),
    await openContract(contractFiles.to.file, options),
  ];
  const isListed = (path: string): boolean => from.moved.find(path) !== undefined;
  const found = proposeMoved({ oldContract: before, newContract: after, from: from.name, to: to.name, isListed });
  if (format === 'json') io.stdout.write(printedJson({ from: from.name, to: to.name, ...movedJson(found) }));
  else io.stdout.write(movedYaml(from.name, to.name, found));
  return 0;
}

/** The output in JSON, with its public names: the key of `confidence` is `sure`. */
function movedJson({ proposals, unmatched }: MovedProposals): object {
  const rows = proposals.map(({ confidence: sure, from, to, score, why }) => ({ from, to, score, sure, why }));
  return { proposals: rows, unmatched };
}

/** Rows to paste into routes.yaml, each with a comment that gives the confidence and the reason. */
function movedYaml(from: string, to: string, { proposals, unmatched }: MovedProposals): string {
  if (proposals.length + unmatched.length === 0) {
    return `# Every route of ${from} has the same path in ${to}, or a row under moved.\n`;
  }
  const lines = [
    `# Routes of ${from} that have another path in ${to}. Review each row, and add it to /${from} in routes.yaml.`,
  ];
  lines.push(proposals.length > 0 ? 'moved:' : '# moved:');
  for (const { from: oldPath, to: newPath, confidence, why } of proposals) {
    lines.push(`  # ${printable(`${confidence}: ${why.join(', ')}`)}`, `  ${scalar(oldPath)}: ${scalar(newPath)}`);
  }
  if (unmatched.length > 0)
    lines.push(
      `  # no similar route in ${to}: write null if ${unmatched.length === 1 ? 'it was' : 'they were'} removed`,
    );
  lines.push(...unmatched.map((path) => `  # ${scalar(path)}: null`));
  return `${lines.join('\n')}\n`;
}

/** A path as a YAML scalar, quoted unless it is certainly plain text. */
function scalar(path: string): string {
  return /^\/[\w\-./{}~]*$/.test(path) ? path : printable(JSON.stringify(path));
}

/** Two versions of a routes.yaml, and their contracts. */
export interface VersionPair {
  readonly from: Version;
  readonly to: Version;
  /** Has the files of both contracts in `from` and `to`. */
  readonly guideRequest: GuideRequest;
}

/** @throws UnreadableFileError, UsageError, CompareError */
export function versionPair(older: string, newer: string, config: string, io: Io): VersionPair {
  const snapshot = snapshotOf(config, io);
  const [from, to] = [versionNamed(older, snapshot, config), versionNamed(newer, snapshot, config)];
  if (baseOf(from.name) === baseOf(to.name) && from.major >= to.major)
    throw new UsageError(`/${to.name} is not later than /${from.name}. Give the older version first.`);
  const request = guideRequest(from, to, snapshot, systemClock.now());
  return {
    from,
    to,
    guideRequest: { ...request, from: withRelativePath(request.from, io), to: withRelativePath(request.to, io) },
  };
}

function versionNamed(name: string, { versions, sortedVersions }: Snapshot, config: string): Version {
  const version = versions.get(name);
  if (version) return version;
  const versionList = sortedVersions.map((one) => `/${one.name}`).join(', ');
  throw new UsageError(`${config} has no version /${name}. It has ${versionList}.`);
}

/** Makes the path relative to the working directory if the file is inside that directory. */
function withRelativePath(named: GuideRequest['from'], { cwd }: Io): GuideRequest['from'] {
  const file = relative(cwd, named.file);
  return { ...named, file: file.startsWith('..') ? named.file : file };
}
