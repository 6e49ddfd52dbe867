import type { DriftStatus } from '../../../contracts/shadow/sampling/comparisonStatus.ts';
import { rfc3339Of } from '../../../shared/instant.ts';
import { isMap } from '../../../shared/json.ts';
import { withCommas } from '../../../shared/text.ts';
import type { AddCommand } from '../io.ts';
import { driftDocument } from '../output/shadowText.ts';
import { addComparisonCommands } from './shadow.ts';

export const addDrift: AddCommand = (program, io, finish) => {
  const command = program
    .command('drift')
    .description('Report which parts of the responses of a running version its own contract does not declare.');
  addComparisonCommands(command, io, finish, {
    kind: 'drift',
    status:
      'List the versions whose responses are compared with their contract, and the number of compared responses since the start.',
    stop: 'Stop comparing responses, in all workers of this gateway. Restarts do not resume the comparison, only a change of its settings does.',
    table: statusTable,
    report: 'List the undeclared routes, statuses, media types and fields, and the values that violate the contract.',
    documentOf: driftDocument,
  });
};

function statusTable(statuses: unknown): string[][] | undefined {
  if (!isStatusList(statuses)) return undefined;
  const rows = statuses.map(({ version, state, until, compared }) => [
    `/${version}`,
    state,
    rfc3339Of(until),
    withCommas(compared),
  ]);
  return [['version', 'state', 'until', 'compared'], ...rows];
}

function isStatusList(value: unknown): value is readonly DriftStatus[] {
  return Array.isArray(value) && value.every((one) => isMap(one) && typeof one['compared'] === 'number');
}
