import { InvalidArgumentError, Option } from 'commander';
import { isBreaking } from '../compat/findings.ts';
import type { CompatReport } from '../compat/report/report.ts';
import { rulesTable } from '../compat/report/rulesTable.ts';
import { judgedOf } from '../compat/report/summary.ts';
import { type Level, levels, rules } from '../compat/rules/rules.ts';
import type { AddCommand } from './command.ts';
import { type CompatFormat, compatFormats, reportIn } from './compatPrinters.ts';
import { type Progress, progressOn } from './compatProgress.ts';
import { whyNotCompared } from './compatRefusal.ts';
import type { ExitCode, Io } from './io.ts';
import { UsageError } from './usageError.ts';

export interface CompatOptions {
  readonly routes?: string;
  readonly against?: string;
  readonly config?: string;
  readonly format: CompatFormat;
  readonly rule: ReadonlyMap<string, Level>;
  readonly all: boolean;
  readonly allowRemote: boolean;
  readonly validate: boolean;
  readonly rules: boolean;
}

export interface Compared {
  readonly report: CompatReport;
  /** Where the relative names of contracts begin. */
  readonly folder: string;
}

export const addCompat: AddCommand = (program, io, finish) => {
  program
    .command('compat')
    .description('Say whether a change of an OpenAPI contract is allowed within a major version.')
    .argument('[old]', 'the contract as it was: a file, - for standard input, or GITREF:path')
    .argument('[new]', 'the contract as it is')
    .option('--routes <file>', "check every version's contract of a routes.yaml, and majors against each other")
    .option('--against <gitref>', 'with --routes: the commit to hold the contracts against (default: HEAD)')
    .option('--config <file>', 'the routes.yaml whose compat section counts (default: that of --routes)')
    .addOption(
      new Option(
        '--rule <id=level>',
        "a level in place of the rule's own: error, warn, info or off; may be given again",
      )
        .argParser(ruleArgument)
        .default(new Map(), 'none'),
    )
    .addOption(new Option('--format <format>', 'how to print the result').choices(compatFormats).default('text'))
    .option('--all', 'list compatible changes, too, and all routes of each finding', false)
    .option('--allow-remote', 'follow a $ref to another host', false)
    .option('--validate', 'refuse contracts that are not in order', false)
    .option('--rules', 'print the rules, and compare nothing', false)
    .action(async (old: string | undefined, now: string | undefined, options: CompatOptions) =>
      finish(await compat(old, now, options, io)),
    );
};

async function compat(
  old: string | undefined,
  now: string | undefined,
  options: CompatOptions,
  io: Io,
): Promise<ExitCode> {
  if (options.rules) {
    io.stdout.write(rulesTable());
    return 0;
  }
  const progress = progressOn(io);
  try {
    const compared = await compare(old, now, options, io, progress);
    const printed = reportIn(compared, options, io);
    progress.done();
    io.stdout.write(printed);
    return isClean(compared.report) ? 0 : 1;
  } catch (error) {
    progress.done();
    io.stderr.write(`${whyNotCompared(error)}\nThe contracts were not compared.\n`);
    return 2;
  }
}

async function compare(
  old: string | undefined,
  now: string | undefined,
  options: CompatOptions,
  io: Io,
  progress: Progress,
): Promise<Compared> {
  if (options.routes !== undefined) {
    if (old !== undefined) throw new UsageError('--routes takes its contracts from the file: leave OLD and NEW out.');
    const { compareRoutes } = await import('./compatRoutes.ts');
    return compareRoutes(options.routes, options, io, progress);
  }
  if (options.against !== undefined) {
    throw new UsageError('--against is for --routes.  Name a contract of a commit as GITREF:path, in place of OLD.');
  }
  if (old === undefined || now === undefined) {
    throw new UsageError('Two contracts are needed: version-gateway compat OLD NEW, or --routes routes.yaml.');
  }
  const { compareNamed } = await import('./compatNamed.ts');
  return compareNamed(old, now, options, io, progress);
}

function isClean({ comparings, stale }: CompatReport): boolean {
  return stale.length === 0 && !comparings.some((comparing) => isBreaking(judgedOf(comparing)));
}

function ruleArgument(text: string, known: ReadonlyMap<string, Level>): ReadonlyMap<string, Level> {
  const [id, ...words] = text.split('=');
  const level = levels.find((one) => one === words.join('='));
  if (id === undefined || !rules.some((rule) => rule.id === id)) {
    throw new InvalidArgumentError('There is no such rule: version-gateway compat --rules lists them.');
  }
  if (level === undefined) throw new InvalidArgumentError(`Write ${id}=error, warn, info or off.`);
  return new Map([...known, [id, level]]);
}
