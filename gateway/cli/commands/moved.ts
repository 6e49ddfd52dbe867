import { openContract } from '../../compat/document/open.ts';
import { type MovedProposals, proposeMoved } from '../../compat/judge/moved.ts';
import { printable } from '../../shared/text.ts';
import type { AddCommand, ExitCode, Io } from '../io.ts';
import { configOption, formatOption, versionArgument } from '../options.ts';
import { printedJson } from '../output/terminal.ts';
import { versionPair } from './versionPair.ts';

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
    .action(async (old: string, now: string, options: MovedOptions) => finish(await moved(old, now, options, io)));
};

/** @throws UnreadableFileError, CompareError, UsageError */
async function moved(old: string, now: string, { config, format }: MovedOptions, io: Io): Promise<ExitCode> {
  const { from, to, request } = versionPair(old, now, config, io);
  const options = { cwd: io.cwd, stdin: () => '', allowRemote: false };
  const [before, after] = [
    await openContract(request.from.file, options),
    await openContract(request.to.file, options),
  ];
  const isListed = (path: string): boolean => from.moved.find(path) !== undefined;
  const found = proposeMoved({ old: before, now: after, from: from.name, to: to.name, isListed });
  if (format === 'json') io.stdout.write(printedJson({ from: from.name, to: to.name, ...found }));
  else io.stdout.write(movedYaml(from.name, to.name, found));
  return 0;
}

/** Rows to paste into routes.yaml, each with a comment that gives the confidence and the reason. */
function movedYaml(from: string, to: string, { proposals, unmatched }: MovedProposals): string {
  if (proposals.length + unmatched.length === 0) {
    return `# Every route of ${from} has the same path in ${to}, or a row under moved.\n`;
  }
  const lines = [
    `# Routes of ${from} that have another path in ${to}. Review each row, then add them to routes./${from} .`,
  ];
  lines.push(proposals.length > 0 ? 'moved:' : '# moved:');
  for (const { from: old, to: now, sure, why } of proposals) {
    lines.push(`  # ${printable(`${sure}: ${why.join(', ')}`)}`, `  ${scalar(old)}: ${scalar(now)}`);
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
