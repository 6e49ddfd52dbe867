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
import type { Document } from '../../../shared/document.ts';
import { reasonOf } from '../../../shared/fileSystem.ts';
import { rfc3339Of } from '../../../shared/instant.ts';
import { plural, printable, withCommas } from '../../../shared/text.ts';
import { type AdminEndpoint, askGateway } from '../adminClient.ts';
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
const timeoutMs = 30_000;

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
    list: async (endpoint) => {
      const answer = await askGateway(endpoint, 'GET /api/shadow');
      return { answer, rows: shadowTable(answer.shadows) };
    },
    stop: 'Stop sending copies, in all workers of this gateway. Restarts do not resume the shadow, only a change of its settings does.',
    end: async (endpoint, version) => {
      const { shadow, stored } = await askGateway(endpoint, 'POST /api/shadow/stop', { body: { version } });
      return { to: ` to /${printable(shadow.to)}`, stored };
    },
    report:
      'Show how the responses of the other version differ, by route and field: declared by the contracts, undeclared, noise, or without evidence.',
    ask: (endpoint, version) => askGateway(endpoint, 'GET /api/shadow/{version}', { version, timeoutMs }),
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
    list: async (endpoint) => {
      const answer = await askGateway(endpoint, 'GET /api/drift');
      return { answer, rows: driftTable(answer.drifts) };
    },
    stop: 'Stop comparing responses, in all workers of this gateway. Restarts do not resume the comparison, only a change of its settings does.',
    end: async (endpoint, version) => {
      const { stored } = await askGateway(endpoint, 'POST /api/drift/stop', { body: { version } });
      return { to: '', stored };
    },
    report: 'List the undeclared routes, statuses, media types and fields, and the values that violate the contract.',
    ask: (endpoint, version) => askGateway(endpoint, 'GET /api/drift/{version}', { version, timeoutMs }),
    documentOf: driftDocument,
  });
};

/** The descriptions of `status`, `stop` and `report`, and what they ask and print. */
interface ComparisonCommands<Report extends object> {
  readonly kind: ComparisonKind;
  readonly status: string;
  /** `rows`: with the headings first. */
  list(endpoint: AdminEndpoint): Promise<{ readonly answer: object; readonly rows: string[][] }>;
  readonly stop: string;
  /** `to`: the other version, in words. */
  end(endpoint: AdminEndpoint, version: string): Promise<{ readonly to: string; readonly stored: boolean }>;
  readonly report: string;
  ask(endpoint: AdminEndpoint, version: string): Promise<Report>;
  documentOf(report: Report): Document;
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
      finish(await stop(commands, version, options, io)),
    );
  addAdminEndpointOptions(command.command('report'))
    .description(commands.report)
    .argument('<version>', 'version, such as /v1', versionArgument)
    .addOption(formatOption(['text', 'json', 'markdown']))
    .action(async (version: string, options: PrintOptions) => finish(await report(commands, version, options, io)));
}

/** @throws AdminError, UnreadableFileError */
async function status(
  { kind, list }: Pick<ComparisonCommands<object>, 'kind' | 'list'>,
  options: PrintOptions,
  io: Io,
): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  const { answer, rows } = await list(endpoint);
  printTable(answer, rows, `The configuration has no ${comparisonNames[kind]}.`, { ...options, endpoint, io });
  return 0;
}

function shadowTable(shadows: readonly ShadowStatus[]): string[][] {
  const rows = shadows.map(({ version, to, state, until, copies: copiesByKind, dropped }) => {
    // The copies of the other kind, `control`, are sent to the version itself.
    const { compared = 0, ...notCompared } = copiesByKind['shadow'] ?? {};
    const counts = [compared, sumOf(notCompared), sumOf(dropped)].map(withCommas);
    return [`/${version}`, `/${to}`, state, rfc3339Of(until), ...counts];
  });
  return [['version', 'to', 'state', 'until', 'compared', 'not compared', 'dropped'], ...rows];
}

function driftTable(drifts: readonly DriftStatus[]): string[][] {
  const rows = drifts.map(({ version, state, until, compared }) => {
    return [`/${version}`, state, rfc3339Of(until), withCommas(compared)];
  });
  return [['version', 'state', 'until', 'compared'], ...rows];
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** @throws AdminError, UnreadableFileError */
async function stop(
  { kind, end }: Pick<ComparisonCommands<object>, 'kind' | 'end'>,
  version: string,
  options: AdminEndpointOptions,
  io: Io,
): Promise<ExitCode> {
  const { to, stored } = await end(adminEndpointOf(options, io), version);
  const name = comparisonNames[kind];
  io.stdout.write(`/${version}: the ${name}${to} is stopped\n`);
  if (stored) return 0;
  io.stderr.write(`The stop could not be stored: the ${name} starts again when this gateway restarts.\n`);
  return 1;
}

/** @throws AdminError, UnreadableFileError */
async function report<Report extends object>(
  { ask, documentOf }: ComparisonCommands<Report>,
  version: string,
  options: PrintOptions,
  io: Io,
): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  printReport(await ask(endpoint, version), documentOf, { ...options, endpoint, io });
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
  const version = givenVersion ?? onlyShadowedVersion((await askGateway(endpoint, 'GET /api/shadow')).shadows);
  const query = values ? ({ values: 'true' } as const) : {};
  const found = await askGateway(endpoint, 'GET /api/shadow/{version}/requests', { version, query });
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

/** @throws UsageError */
function onlyShadowedVersion(shadows: readonly ShadowStatus[]): string {
  const [first, ...others] = shadows.map((one) => one.version);
  if (first === undefined) throw new UsageError('The configuration has no shadow, so no request was sampled.');
  if (others.length === 0) return versionArgument(first);
  const shadowed = shadows.map((one) => `/${printable(one.version)}`).join(', ');
  throw new UsageError(
    `Several versions have a shadow: ${shadowed}.  Name one: version-gateway shadow export FILE /${printable(first)}`,
  );
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
