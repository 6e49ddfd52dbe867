import { randomUUID } from 'node:crypto';
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import {
  type ComparisonKind,
  comparisonNames,
  type DriftStatus,
  type ShadowStatus,
} from '../../../contracts/shadow/sampling/comparisonStatus.ts';
import type { ExportedRequests } from '../../../contracts/shadow/sampling/sampledRequests.ts';
import type { Document } from '../../../shared/document.ts';
import { reasonOf } from '../../../shared/fileSystem.ts';
import { rfc3339Of } from '../../../shared/instant.ts';
import { isMap } from '../../../shared/json.ts';
import { plural, printable, withCommas } from '../../../shared/text.ts';
import { adminClient, askGateway, isOfKind, notAGateway } from '../adminClient.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import {
  type AdminEndpointOptions,
  addAdminEndpointOptions,
  adminEndpointOf,
  formatOption,
  type PrintOptions,
  versionArgument,
} from '../options.ts';
import { driftDocument, shadowDocument } from '../output/shadowText.ts';
import { printedJson, printReport, printTable } from '../output/terminal.ts';

// The ledger may have many rows of evidence.
const reportTimeoutMs = 30_000;

interface ExportOptions extends AdminEndpointOptions {
  readonly values?: boolean;
}

export const addShadow: AddCommand = (program, io, finish) => {
  const command = program
    .command('shadow')
    .description(
      'Show and stop the copies of requests that are sent to another version, and report on the differences.',
    );
  addComparisonCommands(command, io, finish, {
    kind: 'shadow',
    status: 'List the shadows of the configuration, with the number of copies since the start.',
    stop: 'Stop sending copies, in all workers of this gateway. Restarts do not resume the shadow, only a change of its settings does.',
    table: shadowTable,
    report:
      'Show how the responses of the other version differ, by route and field: declared by the contracts, undeclared, noise, or without evidence.',
    documentOf: shadowDocument,
  });
  addAdminEndpointOptions(command.command('export'))
    .description(
      'Write the sampled requests to a file for `replay`: routes, and the names and types of their parameters.',
    )
    .argument('<file>', 'the file to write, readable only by its owner; - for standard output')
    .argument('[version]', 'version, such as /v1; needed if several versions have a shadow', versionArgument)
    .option('--values', 'also write the values of the parameters; requires `shadow.values: on`')
    .action(async (file: string, version: string | undefined, options: ExportOptions) =>
      finish(await exportRequests(file, version, options, io)),
    );
};

export const addDrift: AddCommand = (program, io, finish) => {
  const command = program
    .command('drift')
    .description('Report which parts of the responses of a running version its own contract does not declare.');
  addComparisonCommands(command, io, finish, {
    kind: 'drift',
    status:
      'List the versions whose responses are compared with their contract, and the number of compared responses since the start.',
    stop: 'Stop comparing responses, in all workers of this gateway. Restarts do not resume the comparison, only a change of its settings does.',
    table: driftTable,
    report: 'List the undeclared routes, statuses, media types and fields, and the values that violate the contract.',
    documentOf: driftDocument,
  });
};

/** How `status`, `stop` and `report` describe and print one kind of comparison. */
interface ComparisonCommands<Report extends object> {
  readonly kind: ComparisonKind;
  /** The descriptions of the commands. */
  readonly status: string;
  readonly stop: string;
  readonly report: string;
  /** The rows of the table of `status`, with the headings first. Undefined: the answer is not from a gateway. */
  readonly table: (statuses: unknown) => string[][] | undefined;
  readonly documentOf: (report: Report) => Document;
}

/** Adds `status`, `stop` and `report`. */
function addComparisonCommands<Report extends object>(
  command: Command,
  io: Io,
  finish: (code: ExitCode) => void,
  commands: ComparisonCommands<Report>,
): void {
  addAdminEndpointOptions(command.command('status'))
    .description(commands.status)
    .addOption(formatOption(['text', 'json']))
    .action(async (options: PrintOptions) => finish(await status(commands, options, io)));
  addAdminEndpointOptions(command.command('stop'))
    .description(commands.stop)
    .argument('<version>', 'version, such as /v1', versionArgument)
    .action(async (version: string, options: AdminEndpointOptions) =>
      finish(await stop(commands.kind, version, options, io)),
    );
  addAdminEndpointOptions(command.command('report'))
    .description(commands.report)
    .argument('<version>', 'version, such as /v1', versionArgument)
    .addOption(formatOption(['text', 'json', 'markdown']))
    .action(async (version: string, options: PrintOptions) => finish(await report(commands, version, options, io)));
}

/** @throws AdminError, UnreadableFileError */
async function status(
  { kind, table: tableOf }: Pick<ComparisonCommands<object>, 'kind' | 'table'>,
  options: PrintOptions,
  io: Io,
): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  const found = await adminClient(endpoint).get(`/api/${kind}`);
  // The field is `shadows` or `drifts`.
  const rows = tableOf(found[`${kind}s`]);
  if (rows === undefined) throw notAGateway(endpoint.name);
  printTable(found, rows, `The configuration has no ${comparisonNames[kind]}.`, { ...options, endpoint, io });
  return 0;
}

function shadowTable(statuses: unknown): string[][] | undefined {
  if (!isStatusList(statuses)) return undefined;
  const rows = statuses.map(({ version, to, state, until, copies: copiesByKind, dropped }) => {
    // The copies of the other kind, `control`, are sent to the version itself.
    const { compared = 0, ...notCompared } = copiesByKind['shadow'] ?? {};
    const counts = [compared, sumOf(notCompared), sumOf(dropped)].map(withCommas);
    return [`/${version}`, `/${to}`, state, rfc3339Of(until), ...counts];
  });
  return [['version', 'to', 'state', 'until', 'compared', 'not compared', 'dropped'], ...rows];
}

function driftTable(statuses: unknown): string[][] | undefined {
  if (!isDriftList(statuses)) return undefined;
  const rows = statuses.map(({ version, state, until, compared }) => [
    `/${version}`,
    state,
    rfc3339Of(until),
    withCommas(compared),
  ]);
  return [['version', 'state', 'until', 'compared'], ...rows];
}

function isDriftList(value: unknown): value is readonly DriftStatus[] {
  return Array.isArray(value) && value.every((one) => isMap(one) && typeof one['compared'] === 'number');
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function isStatusList(value: unknown): value is readonly ShadowStatus[] {
  return Array.isArray(value) && value.every((one) => isMap(one) && isMap(one['copies']));
}

/** @throws AdminError, UnreadableFileError */
async function stop(kind: ComparisonKind, version: string, options: AdminEndpointOptions, io: Io): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  const { [kind]: stopped, stored } = await adminClient(endpoint).post(`/api/${kind}/stop`, { version });
  if (!isMap(stopped)) throw notAGateway(endpoint.name);
  const to = typeof stopped['to'] === 'string' ? ` to /${printable(stopped['to'])}` : '';
  const name = comparisonNames[kind];
  io.stdout.write(`/${version}: the ${name}${to} is stopped\n`);
  if (stored === true) return 0;
  io.stderr.write(`The stop could not be stored: the ${name} starts again when this gateway restarts.\n`);
  return 1;
}

/** @throws AdminError, UnreadableFileError */
async function report<Report extends object>(
  { kind, documentOf }: ComparisonCommands<Report>,
  version: string,
  options: PrintOptions,
  io: Io,
): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  const isReport = isOfKind<Report>(`${kind} report`, 'routes');
  printReport(await askGateway(endpoint, `/api/${kind}/${version}`, isReport, reportTimeoutMs), documentOf, {
    ...options,
    endpoint,
    io,
  });
  return 0;
}

/** @throws AdminError, UnreadableFileError, UsageError */
async function exportRequests(
  file: string,
  givenVersion: string | undefined,
  { values = false, ...options }: ExportOptions,
  io: Io,
): Promise<ExitCode> {
  // The requests may go to standard output.
  const endpoint = adminEndpointOf(options, io, 'stderr');
  const client = adminClient(endpoint);
  const version = givenVersion ?? onlyShadowedVersion((await client.get('/api/shadow'))['shadows'], endpoint.name);
  const found = await client.get(`/api/shadow/${version}/requests${values ? '?values=true' : ''}`);
  if (!isExport(found)) throw notAGateway(endpoint.name);
  if (values && !found.keeps_values)
    throw new UsageError(
      `The gateway keeps no values of requests to /${version}.  Set shadow.values: on in its section of routes.yaml, and wait for requests.`,
    );
  const { requests, expires = '' } = found.file;
  if (requests.length === 0) {
    io.stderr.write(
      `No request to /${version} was sampled since the start of the gateway or the last change of its shadow.\n`,
    );
    return 1;
  }
  if (file === '-') {
    io.stdout.write(printedJson(found.file));
    return 0;
  }
  writePrivately(resolve(io.cwd, file), file, printedJson(found.file));
  const routes = new Set(requests.map(({ route }) => route)).size;
  const amount = `${plural(requests.length, 'request')} of ${plural(routes, 'route')}`;
  io.stdout.write(`${printable(file)}: ${amount}, ${values ? 'with' : 'without'} values; expires ${expires}\n`);
  return 0;
}

/** @throws AdminError, UsageError */
function onlyShadowedVersion(shadows: unknown, endpointName: string): string {
  if (!isStatusList(shadows)) throw notAGateway(endpointName);
  const [first, ...others] = shadows.map((one) => one.version);
  if (first === undefined) throw new UsageError('The configuration has no shadow, so no request was sampled.');
  if (others.length === 0) return versionArgument(first);
  const shadowed = shadows.map((one) => `/${printable(one.version)}`).join(', ');
  throw new UsageError(
    `Several versions have a shadow: ${shadowed}.  Name one: version-gateway shadow export FILE /${printable(first)}`,
  );
}

function isExport(answer: unknown): answer is ExportedRequests {
  if (!isMap(answer) || answer['kind'] !== 'shadow requests') return false;
  const { file } = answer;
  return isMap(file) && Array.isArray(file['requests']) && file['requests'].every(isMap);
}

/** Replaces the file as a whole, including its permissions and owner. @throws UsageError */
function writePrivately(path: string, name: string, text: string): void {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    // A rename would also replace a link or a pipe.
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === false)
      throw new UsageError(`${printable(name)} is not a regular file.  Name another one.`);
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${printable(name)} cannot be written: ${reasonOf(error)}.  Correct the path, or the permissions.`,
    );
  }
}
