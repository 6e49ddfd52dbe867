import type { DriftStatus } from '../../../contracts/shadow/comparisonStatus.ts';
import type { DriftReport } from '../../../contracts/shadow/drift.ts';
import { isMap } from '../../../shared/json.ts';
import { plural, printable, printableExcerpt, withCommas } from '../../../shared/text.ts';
import { adminClient, gatewayJson, notAGateway } from '../adminClient.ts';
import type { AddCommand, ExitCode, Io } from '../io.ts';
import {
  type AdminEndpointOptions,
  addAdminEndpointOptions,
  adminEndpointOf,
  formatOption,
  versionArgument,
} from '../options.ts';
import { type Paint, painter, printedJson, table, widthOf } from '../output/terminal.ts';
import { escaped, markdownTable } from '../output/verdictText.ts';
import { addComparisonControl } from './shadow.ts';

// The ledger may have many rows of evidence.
const reportTimeoutMs = 30_000;
const headings = ['status', 'what', 'path', 'responses', 'last seen'];

interface DriftOptions extends AdminEndpointOptions {
  readonly format: 'text' | 'json' | 'markdown';
}

export const addDrift: AddCommand = (program, io, finish) => {
  const command = program
    .command('drift')
    .description('Report which parts of the responses of a running version its own contract does not declare.');
  addComparisonControl(command, io, finish, {
    kind: 'drift',
    status:
      'List the versions whose responses are compared with their contract, and the number of compared responses since the start.',
    stop: 'Stop comparing responses, in all workers of this gateway. Restarts do not resume the comparison, only a change of its settings does.',
    table: statusTable,
  });
  addAdminEndpointOptions(command.command('report'))
    .description(
      'List the undeclared routes, statuses, media types and fields, and the values that violate the contract.',
    )
    .argument('<version>', 'version, such as /v2', versionArgument)
    .addOption(formatOption(['text', 'json', 'markdown']))
    .action(async (version: string, options: DriftOptions) => finish(await report(version, options, io)));
};

function statusTable(statuses: unknown): string[][] | undefined {
  if (!isStatusList(statuses)) return undefined;
  const rows = statuses.map(({ version, state, until, compared }) => [
    `/${version}`,
    state,
    until,
    withCommas(compared),
  ]);
  return [['version', 'state', 'until', 'compared'], ...rows];
}

function isStatusList(value: unknown): value is readonly DriftStatus[] {
  return Array.isArray(value) && value.every((one) => isMap(one) && typeof one['compared'] === 'number');
}

/** @throws AdminError, UnreadableFileError */
async function report(version: string, { format, ...options }: DriftOptions, io: Io): Promise<ExitCode> {
  const endpoint = adminEndpointOf({ ...options, format }, io);
  const found = await adminClient(endpoint).get(`/api/drift/${version}`, reportTimeoutMs);
  if (!isDriftReport(found)) throw notAGateway(endpoint.name);
  if (format === 'json') io.stdout.write(printedJson({ ...found, ...gatewayJson(endpoint) }));
  else if (format === 'markdown') io.stdout.write(asMarkdown(found));
  else io.stdout.write(asText(found, painter(io.stdout, io.env), widthOf(io.stdout)));
  return 0;
}

// Checks enough to recognize a gateway. A gateway of the same release has the other fields, too.
function isDriftReport(answer: unknown): answer is DriftReport {
  return isMap(answer) && answer['kind'] === 'drift report' && Array.isArray(answer['routes']);
}

function asText(report: DriftReport, paint: Paint, width: number): string {
  const lines = [paint('bold', printable(report.summary)), ...report.notes.map((note) => `  ${printable(note)}`)];
  for (const route of report.routes) {
    lines.push('', `${paint('bold', printableExcerpt(route.route, 100))}  ${routeLine(route)}`);
    if (route.findings.length > 0) lines.push(...table(rowsOf(route), width));
    lines.push(...remarks(route).map((line) => `  ${line}`));
  }
  const hiddenRoutes = report.route_count - report.routes.length;
  if (hiddenRoutes > 0) lines.push('', `and ${plural(hiddenRoutes, 'more route')}`);
  return `${lines.join('\n')}\n`;
}

/** For a ticket or a pull request. */
function asMarkdown(report: DriftReport): string {
  const lines = [`# ${escaped(`Drift of /${report.version} from its contract`)}`, '', escaped(report.summary)];
  if (report.notes.length > 0) lines.push('', ...report.notes.map((note) => `- ${escaped(note)}`));
  for (const route of report.routes) {
    lines.push('', `## ${escaped(route.route)}`, '', escaped(routeLine(route)));
    if (route.findings.length > 0) lines.push('', ...markdownTable(headings, rowsOf(route)));
    const routeRemarks = remarks(route);
    if (routeRemarks.length > 0) lines.push('', ...routeRemarks.map((line) => `- ${escaped(line)}`));
  }
  const hiddenRoutes = report.route_count - report.routes.length;
  if (hiddenRoutes > 0) lines.push('', `and ${plural(hiddenRoutes, 'more route')}`);
  return `${lines.join('\n')}\n`;
}

type DriftRoute = DriftReport['routes'][number];

function routeLine({ responses, compared }: DriftRoute): string {
  return `${plural(responses, 'response')}, ${withCommas(compared)} with bodies`;
}

function rowsOf({ findings }: DriftRoute): string[][] {
  return findings.map(({ status, what, detail, path, count, last }) => [
    status === 0 ? '' : String(status),
    printable(`${what} ${detail}`.trim()),
    printable(path),
    withCommas(count),
    last,
  ]);
}

function remarks({ findings, finding_count: count, has_more_paths: isCut }: DriftRoute): string[] {
  const hiddenCount = count - findings.length;
  return [
    ...(hiddenCount > 0 ? [`and ${withCommas(hiddenCount)} more`] : []),
    ...(isCut ? ['Some bodies have more than 500 different paths. Paths beyond these are not compared.'] : []),
  ];
}
