import { resolve } from 'node:path';
import { Option } from 'commander';
import { systemClock } from '../shared/clock.ts';
import { usageCsv } from '../usage/report/usageCsv.ts';
import { type Grouping, groupings } from '../usage/report/usagePage.ts';
import type { UsageReport } from '../usage/report/usageReport.ts';
import { adminAt, isRecord, stranger, UnansweredError } from './admin.ts';
import { addTargetOptions, type TargetOptions, targetOf } from './adminTarget.ts';
import type { AddCommand } from './command.ts';
import type { ExitCode, Io } from './io.ts';
import { painter } from './paint.ts';
import { type Period, periodArgument } from './periodArgument.ts';
import { printedJson } from './printedJson.ts';
import { widthOf } from './table.ts';
import { reportFrom } from './usageStore.ts';
import { usageAsText } from './usageText.ts';
import { versionArgument } from './versionArgument.ts';

export interface UsageOptions extends TargetOptions {
  readonly format: 'text' | 'json' | 'csv';
  readonly since: Period;
  readonly by?: Grouping;
  readonly store?: string;
  readonly names?: string;
}

export const addUsage: AddCommand = (program, io, finish) => {
  addTargetOptions(program.command('usage'))
    .description('Say who calls what, and how far the clients of a version have moved on.')
    .argument('[version]', 'one version, such as /v1', versionArgument)
    .addOption(
      new Option('--since <duration>', 'how far back to look')
        .argParser(periodArgument)
        .default(periodArgument('30d'), '30d'),
    )
    .addOption(new Option('--by <what>', 'one row for each').choices(groupings))
    .addOption(
      new Option('--format <format>', 'how to print the result').choices(['text', 'json', 'csv']).default('text'),
    )
    .addOption(new Option('--store <file>', 'read this ledger, without a running gateway'))
    .addOption(new Option('--names <file>', 'with --store: names for its clients, as in usage.names'))
    .action(async (version: string | undefined, options: UsageOptions) => finish(await usage(version, options, io)));
};

/** @throws UnansweredError */
async function usage(version: string | undefined, options: UsageOptions, io: Io): Promise<ExitCode> {
  const { store, names } = options;
  if (names !== undefined && store === undefined)
    throw new UnansweredError('--names goes with --store: a running gateway reads usage.names by itself.');
  const atHand = { ...options, ...(names !== undefined && { names: resolve(io.cwd, names) }) };
  const report = await (store === undefined
    ? reportOf(version, options, io)
    : reportFrom(resolve(io.cwd, store), version, atHand, systemClock.now()));
  if (options.format === 'json') io.stdout.write(printedJson(report));
  else if (options.format === 'csv') io.stdout.write(usageCsv(report));
  else io.stdout.write(usageAsText(report, painter(io.stdout, io.env), widthOf(io.stdout)));
  return 0;
}

async function reportOf(version: string | undefined, options: UsageOptions, io: Io): Promise<UsageReport> {
  const query = new URLSearchParams({ since: options.since.text });
  if (options.by !== undefined) query.set('by', options.by);
  if (version !== undefined) query.set('version', version);
  const target = targetOf(options, io);
  const answer = await adminAt(target).get(`/api/usage?${query}`);
  if (!isReport(answer)) throw stranger(target.name);
  return answer;
}

// Enough to tell a gateway from anything else that answers there; the rest is of one making with this program.
function isReport(answer: unknown): answer is UsageReport {
  if (!isRecord(answer)) return false;
  const { by, rows, since, until, problems } = answer;
  const isKnown =
    Array.isArray(problems) &&
    groupings.some((grouping) => grouping === by) &&
    typeof since === 'string' &&
    typeof until === 'string';
  return isKnown && Array.isArray(rows) && rows.every(isRecord);
}
