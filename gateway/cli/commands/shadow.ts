import type { Command } from 'commander';
import { type ComparisonKind, comparisonNames, type ShadowStatus } from '../../shadow/comparisonStatus.ts';
import type { DifferenceReport } from '../../shadow/report.ts';
import { grouped, printable } from '../../shared/text.ts';
import { adminClient, isRecord, notAGateway } from '../adminClient.ts';
import type { AddCommand, ExitCode, Io } from '../io.ts';
import {
  type AdminTargetOptions,
  addAdminTargetOptions,
  adminTargetOf,
  formatOption,
  versionArgument,
} from '../options.ts';
import { shadowAsMarkdown, shadowAsText } from '../output/shadowText.ts';
import { painter, printedJson, table, widthOf } from '../output/terminal.ts';

// The ledger may have many rows of evidence.
const reportTimeoutMs = 30_000;

interface StatusOptions extends AdminTargetOptions {
  readonly format: 'text' | 'json';
}

interface ReportOptions extends AdminTargetOptions {
  readonly format: 'text' | 'json' | 'markdown';
}

export const addShadow: AddCommand = (program, io, finish) => {
  const command = program
    .command('shadow')
    .description(
      'Show and stop the copies of requests that are sent to another version, and report on the differences.',
    );
  addComparisonControl(command, io, finish, {
    kind: 'shadow',
    status: 'List the shadows of the configuration, with the copies since the start.',
    stop: 'Send no more copies, in all workers of this gateway. The shadow stays stopped until its settings change, also over restarts.',
    table: statusTable,
  });
  addAdminTargetOptions(command.command('report'))
    .description(
      'Show how the responses of the other version differ, by route and field: declared by the contracts, undeclared, noise, or without evidence.',
    )
    .argument('<version>', 'version, such as /v1', versionArgument)
    .addOption(formatOption(['text', 'json', 'markdown']))
    .action(async (version: string, options: ReportOptions) => finish(await report(version, options, io)));
};

/** What `status` and `stop` of one kind of comparison print. */
interface ComparisonCommands {
  readonly kind: ComparisonKind;
  /** The descriptions of both commands. */
  readonly status: string;
  readonly stop: string;
  /** Undefined: the answer is not from a gateway. */
  readonly table: (statuses: unknown) => string[][] | undefined;
}

/** Adds `status` and `stop`. */
export function addComparisonControl(
  command: Command,
  io: Io,
  finish: (code: ExitCode) => void,
  commands: ComparisonCommands,
): void {
  addAdminTargetOptions(command.command('status'))
    .description(commands.status)
    .addOption(formatOption(['text', 'json']))
    .action(async (options: StatusOptions) => finish(await status(commands, options, io)));
  addAdminTargetOptions(command.command('stop'))
    .description(commands.stop)
    .argument('<version>', 'version, such as /v1', versionArgument)
    .action(async (version: string, options: AdminTargetOptions) =>
      finish(await stop(commands.kind, version, options, io)),
    );
}

/** @throws AdminError, UnreadableFileError */
async function status({ kind, table: tableOf }: ComparisonCommands, options: StatusOptions, io: Io): Promise<ExitCode> {
  const target = adminTargetOf(options, io);
  const found = await adminClient(target).get(`/api/${kind}`);
  const rows = tableOf(found[`${kind}s`]);
  if (rows === undefined) throw notAGateway(target.name);
  if (options.format === 'json') io.stdout.write(printedJson(found));
  else if (rows.length === 1) io.stdout.write(`The configuration has no ${comparisonNames[kind]}.\n`);
  else io.stdout.write(`${table(rows, widthOf(io.stdout)).join('\n')}\n`);
  return 0;
}

function statusTable(statuses: unknown): string[][] | undefined {
  if (!isStatusList(statuses)) return undefined;
  const rows = statuses.map(({ version, to, state, until, copies, dropped }) => [
    `/${version}`,
    `/${to}`,
    state,
    until,
    grouped(copies['shadow']?.['compared'] ?? 0),
    grouped(sumOf(copies['shadow'] ?? {}) - (copies['shadow']?.['compared'] ?? 0)),
    grouped(sumOf(dropped)),
  ]);
  return [['version', 'to', 'state', 'until', 'compared', 'not compared', 'dropped'], ...rows];
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function isStatusList(value: unknown): value is readonly ShadowStatus[] {
  return Array.isArray(value) && value.every((one) => isRecord(one) && isRecord(one['copies']));
}

/** @throws AdminError, UnreadableFileError */
async function stop(kind: ComparisonKind, version: string, options: AdminTargetOptions, io: Io): Promise<ExitCode> {
  const target = adminTargetOf(options, io);
  const { [kind]: stopped, stored } = await adminClient(target).post(`/api/${kind}/stop`, { version });
  if (!isRecord(stopped)) throw notAGateway(target.name);
  const to = typeof stopped['to'] === 'string' ? ` to /${printable(stopped['to'])}` : '';
  const name = comparisonNames[kind];
  io.stdout.write(`/${version}: the ${name}${to} is stopped\n`);
  if (stored === true) return 0;
  io.stderr.write(`The stop could not be stored: the ${name} starts again when this gateway restarts.\n`);
  return 1;
}

/** @throws AdminError, UnreadableFileError */
async function report(version: string, { format, ...options }: ReportOptions, io: Io): Promise<ExitCode> {
  const target = adminTargetOf(options, io);
  const found = await adminClient(target).get(`/api/shadow/${version}`, reportTimeoutMs);
  if (!isShadowReport(found)) throw notAGateway(target.name);
  if (format === 'json') io.stdout.write(printedJson(found));
  else if (format === 'markdown') io.stdout.write(shadowAsMarkdown(found));
  else io.stdout.write(shadowAsText(found, painter(io.stdout, io.env), widthOf(io.stdout)));
  return 0;
}

// Checks enough to recognize a gateway. A gateway of the same release has the other fields, too.
function isShadowReport(answer: unknown): answer is DifferenceReport {
  return isRecord(answer) && answer['kind'] === 'shadow report' && Array.isArray(answer['routes']);
}
