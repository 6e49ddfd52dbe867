import { InvalidArgumentError, Option } from 'commander';
import { hasBreakingFinding } from '../../../contracts/compat/judge/findings.ts';
import { type CompatReport, relevantFindings } from '../../../contracts/compat/judge/judge.ts';
import { asGithub } from '../../../contracts/compat/report/github.ts';
import { reportAsJson } from '../../../contracts/compat/report/json.ts';
import { reportAsMarkdown } from '../../../contracts/compat/report/markdown.ts';
import { asSarif } from '../../../contracts/compat/report/sarif.ts';
import { asText, rulesAsText } from '../../../contracts/compat/report/text.ts';
import { type RuleLevel, ruleLevels, rules } from '../../../contracts/compat/rules/rules.ts';
import { printableExcerpt } from '../../../shared/text.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import { failureInWords, workingTreeAt } from '../output/comparison.ts';
import { painter, printedJson } from '../output/terminal.ts';
import type { ComparisonOptions, ComparisonResult, Progress } from './compatFiles.ts';

export const compatFormats = ['text', 'json', 'sarif', 'github', 'markdown'] as const;
type CompatFormat = (typeof compatFormats)[number];

interface CompatOptions extends ComparisonOptions {
  readonly routes?: string;
  readonly format: CompatFormat;
  readonly all?: boolean;
  readonly rules?: boolean;
}

export const addCompat: AddCommand = (program, io, finish) => {
  program
    .command('compat')
    .description('Check whether a change of an OpenAPI contract is allowed within a major version.')
    .argument('[old]', 'old contract: a file, GITREF:path, or - for standard input')
    .argument('[new]', 'new contract: a file, GITREF:path, or - for standard input')
    .option(
      '--routes <file>',
      'compare each contract of a routes.yaml with its earlier state, and each major with the next',
    )
    .option('--against <gitref>', 'with --routes: the commit that has the earlier contracts (default: HEAD)')
    .option('--config <file>', 'routes.yaml whose compat section applies (default: the file of --routes)')
    .addOption(
      new Option('--rule <id=level>', 'set the level of a rule: error, warn, info or off; can be repeated').argParser(
        ruleArgument,
      ),
    )
    .addOption(new Option('--format <format>', 'output format').choices(compatFormats).default('text'))
    .option('--all', 'also list compatible changes, and all routes of each finding')
    .option('--allow-remote', 'fetch a $ref from another host')
    .addOption(
      new Option('--remote-networks <networks>', 'with --allow-remote: public does not connect to private addresses')
        .choices(['any', 'public'])
        .default('any'),
    )
    .option('--validate', 'fail if a contract is not valid OpenAPI')
    .option('--rules', 'print the rules and exit')
    .action(async (older: string | undefined, newer: string | undefined, options: CompatOptions) =>
      finish(await compat(older, newer, options, io, program.version() ?? '')),
    );
};

async function compat(
  older: string | undefined,
  newer: string | undefined,
  options: CompatOptions,
  io: Io,
  release: string,
): Promise<ExitCode> {
  if (options.rules) {
    io.stdout.write(rulesAsText());
    return 0;
  }
  const progress = progressOn(io);
  try {
    const comparison = await compare(older, newer, options, io, progress);
    const printed = printers[options.format](comparison, { all: options.all === true, io, release });
    progress.done();
    io.stdout.write(printed);
    return isClean(comparison.report) ? 0 : 1;
  } catch (error) {
    progress.done();
    io.stderr.write(`${failureInWords(error)}\nThe contracts were not compared.\n`);
    return 2;
  }
}

async function compare(
  older: string | undefined,
  newer: string | undefined,
  options: CompatOptions,
  io: Io,
  progress: Progress,
): Promise<ComparisonResult> {
  if (options.routes !== undefined) {
    if (older !== undefined) throw new UsageError('--routes reads the contracts from the file: omit OLD and NEW.');
    const { compareRoutes } = await import('./compatRoutes.ts');
    return compareRoutes(options.routes, options, io, progress);
  }
  if (options.against !== undefined) {
    throw new UsageError(
      '--against requires --routes.  To compare with a contract of a commit, write GITREF:path as OLD.',
    );
  }
  if (older === undefined || newer === undefined) {
    throw new UsageError('Two contracts are needed: version-gateway compat OLD NEW, or --routes routes.yaml.');
  }
  const { compareFiles } = await import('./compatFiles.ts');
  return compareFiles(older, newer, options, io, progress);
}

function isClean({ pairs, staleExemptions }: CompatReport): boolean {
  return staleExemptions.length === 0 && !pairs.some((pair) => hasBreakingFinding(relevantFindings(pair)));
}

/** `levels`: rule → the level that an earlier `--rule` sets. @returns these levels and the level that this `--rule` sets */
function ruleArgument(
  text: string,
  levels: ReadonlyMap<string, RuleLevel> = new Map(),
): ReadonlyMap<string, RuleLevel> {
  const [id, ...levelParts] = text.split('=');
  const level = ruleLevels.find((one) => one === levelParts.join('='));
  if (id === undefined || !rules.some((rule) => rule.id === id)) {
    throw new InvalidArgumentError('There is no such rule. See version-gateway compat --rules.');
  }
  if (level === undefined) throw new InvalidArgumentError(`Write ${id}=error, warn, info or off.`);
  return new Map([...levels, [id, level]]);
}

type Printer = (
  comparison: ComparisonResult,
  options: { readonly all: boolean; readonly io: Io; readonly release: string },
) => string;

const printers: Record<CompatFormat, Printer> = {
  text: ({ report }, { all, io }) => asText(report, { paint: painter(io.stdout, io.env), showAll: all }),
  json: ({ report }) => printedJson(reportAsJson(report)),
  sarif: ({ report, folder }, { release }) =>
    printedJson(asSarif(report, { version: release, ...workingTreeAt(folder) })),
  github: ({ report, folder }) => asGithub(report, workingTreeAt(folder)),
  markdown: ({ report }) => reportAsMarkdown(report),
};

const clearLine = '\r\u001b[K';
/** Shorter comparisons show no progress. */
const progressAfterMs = 500;
/** A line that wraps could not be cleared. */
const maxProgressWidth = 70;

/** Shows the current step on a terminal, in one line that is overwritten. */
function progressOn({ stderr, env }: Pick<Io, 'stderr' | 'env'>): Progress & { done(): void } {
  if (stderr.isTTY !== true || env['TERM'] === 'dumb') return { show: () => {}, done: () => {} };
  const began = performance.now();
  let isShown = false;
  return {
    show: (step) => {
      if (performance.now() - began < progressAfterMs) return;
      stderr.write(`${clearLine}${printableExcerpt(step, maxProgressWidth)}…`);
      isShown = true;
    },
    done: () => {
      if (isShown) stderr.write(clearLine);
      isShown = false;
    },
  };
}
