import { Option } from 'commander';
import type { Document } from '../../../shared/document.ts';
import { isoText, rfc3339Of } from '../../../shared/instant.ts';
import { ago, percent, withCommas } from '../../../shared/text.ts';
import { type BrownoutReport, brownoutClasses, brownoutSummary } from '../../../versions/retirement/brownoutReport.ts';
import { clientTable } from '../../../versions/retirement/words.ts';
import { askGateway } from '../adminClient.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import {
  type AdminEndpointOptions,
  addAdminEndpointOptions,
  adminEndpointOf,
  formatOption,
  type PrintOptions,
  versionArgument,
} from '../options.ts';
import { printReport, printTable } from '../output/terminal.ts';

interface ReportOptions extends PrintOptions {
  readonly window?: string;
}

interface StopOptions extends AdminEndpointOptions {
  readonly window?: string;
}

export const addBrownout: AddCommand = (program, io, finish) => {
  const command = program.command('brownout').description('Show, stop and report on the brownouts of a version.');
  addAdminEndpointOptions(command.command('status'))
    .description('List the brownouts of the configuration and their states.')
    .addOption(formatOption(['text', 'json']))
    .action(async (options: PrintOptions) => finish(await status(options, io)));
  addAdminEndpointOptions(command.command('stop'))
    .description(
      'End a brownout now, in every worker and every gateway of the fleet. It does not start again. With --window, a brownout that has not started can be stopped, too.',
    )
    .argument('<version>', 'version, such as /v1', versionArgument)
    .option('--window <start>', 'start of the brownout, such as 2028-06-30T14:00Z (default: the one that is running)')
    .action(async (version: string, options: StopOptions) => finish(await stop(version, options, io)));
  addAdminEndpointOptions(command.command('report'))
    .description(
      'Show what the clients did after a brownout refused them: whether they moved to the successor, kept retrying, or made no more calls.',
    )
    .argument('<version>', 'version, such as /v1', versionArgument)
    .addOption(
      new Option(
        '--window <which>',
        'number of the brownout, from 1 for the earliest, or its start such as 2028-06-30T14:00Z (default: the last one that has begun)',
      ),
    )
    .addOption(formatOption(['text', 'json', 'markdown']))
    .action(async (version: string, options: ReportOptions) => finish(await report(version, options, io)));
};

/** @throws AdminError, UnreadableFileError */
async function status(options: PrintOptions, io: Io): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  const found = await askGateway(endpoint, 'GET /api/brownouts');
  const rows = found.brownouts.map(({ version, at, until, clients, routes, state, reason }) => [
    `/${version}`,
    rfc3339Of(at),
    rfc3339Of(until),
    percent(clients),
    routes?.join(', ') ?? 'all',
    reason === null ? state : `${state}: ${reason}`,
  ]);
  const head = ['version', 'from', 'until', 'clients', 'routes', 'state'];
  printTable(found, [head, ...rows], 'The configuration has no brownouts.', { ...options, endpoint, io });
  return 0;
}

/** @throws AdminError, UnreadableFileError, UsageError */
async function stop(version: string, { window, ...options }: StopOptions, io: Io): Promise<ExitCode> {
  if (window !== undefined && Number.isNaN(Date.parse(window)))
    throw new UsageError('--window must be the start of a brownout, such as 2028-06-30T14:00Z.');
  const endpoint = adminEndpointOf(options, io);
  const body = window === undefined ? { version } : { version, at: isoText(Date.parse(window)) };
  const { brownout, stored } = await askGateway(endpoint, 'POST /api/brownouts/stop', { body });
  io.stdout.write(`/${version}: the brownout of ${rfc3339Of(brownout.at)} is stopped\n`);
  if (stored) return 0;
  io.stderr.write(
    'The decision is not stored yet. Until it is stored, other gateways may refuse clients, and this gateway may refuse them again after a restart.\n',
  );
  return 1;
}

/** @throws AdminError, UnreadableFileError */
async function report(version: string, { window, ...options }: ReportOptions, io: Io): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  const found = await askGateway(endpoint, 'GET /api/brownouts/{version}', { version, query: { window } });
  printReport(found, brownoutDocument, { ...options, endpoint, io });
  return 0;
}

function brownoutDocument(report: BrownoutReport): Document {
  const { clients, not_refused: others, asked_at: now } = report;
  const agoOf = (instant: string): string => ago(Date.parse(instant), Date.parse(now));
  // The clients with the most refused requests come first in each class. While the brownout is not over, the clients have no class.
  const sorted = [...brownoutClasses, null].flatMap((name) => clients.filter((one) => one.class === name));
  const refused = clientTable(sorted, report.client_count, [
    ['since then', (one) => one.class ?? 'not over'],
    ['refused', (one) => withCommas(one.refused)],
    ['last call', (one) => agoOf(one.last_call)],
    ['successor', (one) => (one.successor_use === null ? '-' : agoOf(one.successor_use))],
  ]);
  const notRefused = clientTable(others, report.not_refused_count, [
    ['', (one) => (one.spared ? 'spared by the configuration' : 'not chosen, or called other routes')],
    ['requests on these days', (one) => withCommas(one.requests)],
  ]);
  const windows = report.brownouts.map((one) => [
    `${one.number}${one.number === report.number ? ' (this one)' : ''}`,
    rfc3339Of(one.at),
    rfc3339Of(one.end),
    withCommas(one.refused),
    withCommas(one.clients),
  ]);
  return {
    title: `Brownouts of /${report.version}`,
    lead: brownoutSummary(report),
    sections: [
      { lines: report.notes.map(({ text }) => text) },
      refused,
      { heading: others.length > 0 ? 'Not refused' : undefined, ...notRefused },
      ...(windows.length > 1
        ? [{ table: { head: ['window', 'begins', 'ends', 'refused', 'clients'], rows: windows } }]
        : []),
    ],
  };
}
