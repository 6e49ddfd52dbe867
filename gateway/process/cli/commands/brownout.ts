import { Option } from 'commander';
import { isMap } from '../../../shared/json.ts';
import { ago, percent, printable, printableExcerpt, withCommas } from '../../../shared/text.ts';
import type { BrownoutStatus } from '../../../versions/lifecycle/brownouts.ts';
import { type BrownoutReport, brownoutClasses, brownoutSummary } from '../../../versions/retirement/brownoutReport.ts';
import { adminClient, gatewayJson, notAGateway } from '../adminClient.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import {
  type AdminEndpointOptions,
  addAdminEndpointOptions,
  adminEndpointOf,
  formatOption,
  versionArgument,
} from '../options.ts';
import { type Paint, painter, printedJson, table, widthOf } from '../output/terminal.ts';
import { escaped, markdownTable } from '../output/verdictText.ts';

interface ReportOptions extends AdminEndpointOptions {
  readonly format: 'text' | 'json' | 'markdown';
  readonly window?: string;
}

interface StatusOptions extends AdminEndpointOptions {
  readonly format: 'text' | 'json';
}

interface StopOptions extends AdminEndpointOptions {
  readonly window?: string;
}

export const addBrownout: AddCommand = (program, io, finish) => {
  const command = program.command('brownout').description('Show, stop and report on the brownouts of a version.');
  addAdminEndpointOptions(command.command('status'))
    .description('List the brownouts of the configuration and their states.')
    .addOption(formatOption(['text', 'json']))
    .action(async (options: StatusOptions) => finish(await status(options, io)));
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
async function status(options: StatusOptions, io: Io): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  const found = await adminClient(endpoint).get('/api/brownouts');
  const { brownouts } = found;
  if (!isStatusList(brownouts)) throw notAGateway(endpoint.name);
  if (options.format === 'json') io.stdout.write(printedJson({ ...found, ...gatewayJson(endpoint) }));
  else if (brownouts.length === 0) io.stdout.write('The configuration has no brownouts.\n');
  else {
    const rows = brownouts.map(({ version, at, until, clients, routes, state, reason }) => [
      `/${version}`,
      at,
      until,
      percent(clients),
      routes?.join(', ') ?? 'all',
      reason === null ? state : `${state}: ${printable(reason)}`,
    ]);
    const lines = table([['version', 'from', 'until', 'clients', 'routes', 'state'], ...rows], widthOf(io.stdout));
    io.stdout.write(`${lines.join('\n')}\n`);
  }
  return 0;
}

function isStatusList(value: unknown): value is readonly BrownoutStatus[] {
  return Array.isArray(value) && value.every((one) => isMap(one) && typeof one['state'] === 'string');
}

/** @throws AdminError, UnreadableFileError, UsageError */
async function stop(version: string, { window, ...options }: StopOptions, io: Io): Promise<ExitCode> {
  if (window !== undefined && Number.isNaN(Date.parse(window)))
    throw new UsageError('--window must be the start of a brownout, such as 2028-06-30T14:00Z.');
  const endpoint = adminEndpointOf(options, io);
  const body = window === undefined ? { version } : { version, at: window };
  const { brownout, stored } = await adminClient(endpoint).post('/api/brownouts/stop', body);
  if (!isMap(brownout)) throw notAGateway(endpoint.name);
  io.stdout.write(`/${version}: the brownout of ${printable(String(brownout['at']))} is stopped\n`);
  if (stored === true) return 0;
  io.stderr.write(
    'The decision is not stored yet. Until it is stored, other gateways may refuse clients, and this gateway may refuse them again after a restart.\n',
  );
  return 1;
}

/** @throws AdminError, UnreadableFileError */
async function report(version: string, options: ReportOptions, io: Io): Promise<ExitCode> {
  const { format, window } = options;
  const endpoint = adminEndpointOf(options, io);
  const query = window === undefined ? '' : `?window=${encodeURIComponent(window)}`;
  const found = await adminClient(endpoint).get(`/api/brownouts/${version}${query}`);
  if (!isReport(found)) throw notAGateway(endpoint.name);
  if (format === 'json') io.stdout.write(printedJson({ ...found, ...gatewayJson(endpoint) }));
  else if (format === 'markdown') io.stdout.write(brownoutAsMarkdown(found));
  else io.stdout.write(brownoutAsText(found, painter(io.stdout, io.env), widthOf(io.stdout)));
  return 0;
}

// Checks enough to recognize a gateway. A gateway of the same release has the other fields, too.
function isReport(answer: unknown): answer is BrownoutReport {
  return isMap(answer) && answer['kind'] === 'brownout report' && Array.isArray(answer['clients']);
}

/** The text shows the clients with the most refused requests. The JSON format lists more. */
const maxClientsShown = 20;

function brownoutAsText(report: BrownoutReport, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const lines = [
    paint('bold', printable(brownoutSummary(report))),
    ...report.notes.map(({ text }) => `  ${printable(text)}`),
  ];
  const refused = refusedTable(report);
  if (refused.rows.length > 0) lines.push('', ...table([refused.headings, ...refused.rows], width));
  if (refused.more !== undefined) lines.push(`  ${refused.more}`);
  const notRefused = notRefusedTable(report);
  if (notRefused.rows.length > 0)
    lines.push('', 'Not refused', ...table([notRefused.headings, ...notRefused.rows], width));
  if (notRefused.more !== undefined) lines.push(`  ${notRefused.more}`);
  if (report.brownouts.length > 1) lines.push('', ...table(brownoutRows(report), width));
  return `${lines.join('\n')}\n`;
}

/** For a ticket or a pull request. */
function brownoutAsMarkdown(report: BrownoutReport): string {
  const lines = [`# ${escaped(`Brownouts of /${report.version}`)}`, '', escaped(brownoutSummary(report))];
  if (report.notes.length > 0) lines.push('', ...report.notes.map(({ text }) => `- ${escaped(text)}`));
  const refused = refusedTable(report);
  if (refused.rows.length > 0) lines.push('', ...markdownTable(refused.headings, refused.rows));
  if (refused.more !== undefined) lines.push('', refused.more);
  const notRefused = notRefusedTable(report);
  if (notRefused.rows.length > 0)
    lines.push('', '## Not refused', '', ...markdownTable(notRefused.headings, notRefused.rows));
  if (notRefused.more !== undefined) lines.push('', notRefused.more);
  const [headings = [], ...rows] = brownoutRows(report);
  if (rows.length > 1) lines.push('', ...markdownTable(headings, rows));
  return `${lines.join('\n')}\n`;
}

/** The refused clients, in the order of `brownoutClasses`; those with the most refused requests first in each class. */
function refusedTable({ clients, client_count: count, asked_at: now }: BrownoutReport) {
  // While the brownout is not over, the clients have no class.
  const sorted = [...brownoutClasses, null].flatMap((name) => clients.filter((one) => one.class === name));
  const shown = sorted.slice(0, maxClientsShown);
  const rows = shown.map((one) => [
    printableExcerpt(one.name ?? one.client),
    one.class ?? 'not over',
    withCommas(one.refused),
    ago(Date.parse(one.last_call), Date.parse(now)),
    one.successor_use === null ? '-' : ago(Date.parse(one.successor_use), Date.parse(now)),
  ]);
  const headings = ['client', 'since then', 'refused', 'last call', 'successor'];
  return { headings, rows, more: moreOf(count - shown.length) };
}

function notRefusedTable({ not_refused: clients, not_refused_count: count }: BrownoutReport) {
  const shown = clients.slice(0, maxClientsShown);
  const rows = shown.map((one) => [
    printableExcerpt(one.name ?? one.client),
    one.spared ? 'spared by the configuration' : 'not chosen, or called other routes',
    withCommas(one.requests),
  ]);
  return { headings: ['client', '', 'requests on these days'], rows, more: moreOf(count - shown.length) };
}

function brownoutRows({ brownouts, number }: BrownoutReport): string[][] {
  const rows = brownouts.map((one) => [
    `${one.number}${one.number === number ? ' (this one)' : ''}`,
    printable(one.at),
    printable(one.end),
    withCommas(one.refused),
    withCommas(one.clients),
  ]);
  return [['window', 'begins', 'ends', 'refused', 'clients'], ...rows];
}

function moreOf(count: number): string | undefined {
  return count > 0 ? `and ${withCommas(count)} more` : undefined;
}
