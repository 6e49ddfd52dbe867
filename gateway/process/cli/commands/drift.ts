import type { DriftStatus } from '../../../contracts/shadow/comparisonStatus.ts';
import type { DriftReport } from '../../../contracts/shadow/drift.ts';
import { isMap } from '../../../shared/json.ts';
import { withCommas } from '../../../shared/text.ts';
import { askGateway, isOfKind } from '../adminClient.ts';
import type { AddCommand, ExitCode, Io } from '../io.ts';
import {
  type AdminEndpointOptions,
  addAdminEndpointOptions,
  adminEndpointOf,
  formatOption,
  versionArgument,
} from '../options.ts';
import { driftDocument } from '../output/shadowText.ts';
import { printReport } from '../output/terminal.ts';
import { addComparisonControl } from './shadow.ts';

// The ledger may have many rows of evidence.
const reportTimeoutMs = 30_000;

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
async function report(version: string, options: DriftOptions, io: Io): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  const isReport = isOfKind<DriftReport>('drift report', 'routes');
  const found = await askGateway(endpoint, `/api/drift/${version}`, isReport, reportTimeoutMs);
  printReport(found, driftDocument, { ...options, endpoint, io });
  return 0;
}
