import { resolve } from 'node:path';
import { Option } from 'commander';
import { baseOf, compareIds, isId, majorOf } from '../../../config/api.ts';
import { systemClock } from '../../../shared/clock.ts';
import { printable } from '../../../shared/text.ts';
import { routeOrReason } from '../../../usage/counting/routeNames.ts';
import { usageCsv } from '../../../usage/report/usageCsv.ts';
import { defaultGrouping, type Grouping, groupings, whyRouteNotAllowed } from '../../../usage/report/usagePage.ts';
import { instanceFault, type UsageReport, usageReport } from '../../../usage/report/usageReport.ts';
import type { UsageQueries } from '../../../usage/usageQueries.ts';
import { type AdminEndpoint, askGateway } from '../adminClient.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import { checkNames, openLedger, readAndClose, unreadableLedger } from '../ledgerStore.ts';
import {
  addAdminEndpointOptions,
  adminEndpointOf,
  formatOption,
  type NamedSubject,
  type PrintOptions,
  periodArgument,
  subjectArgument,
  type TimeArgument,
} from '../options.ts';
import { printAnswer } from '../output/terminal.ts';
import { usageAsText } from '../output/usageText.ts';

interface UsageOptions extends PrintOptions {
  readonly since: TimeArgument;
  readonly by?: Grouping;
  readonly instance?: string;
  readonly store?: string;
  readonly names?: string;
}

export const addUsage: AddCommand = (program, io, finish) => {
  addAdminEndpointOptions(program.command('usage'))
    .description('Show which clients call which versions, and how far they have migrated.')
    .argument('[version]', 'show only this version, such as /v1, or route, such as "GET /v1/drinks"', subjectArgument)
    .addOption(
      new Option('--since <duration>', 'period to report, up to now')
        .argParser(periodArgument)
        .default(periodArgument('30d'), '30d'),
    )
    .addOption(new Option('--by <what>', 'what each row shows').choices(groupings))
    .addOption(formatOption(['text', 'json', 'csv']))
    .addOption(
      new Option('--instance <name>', 'only the requests to this gateway of a fleet; --by can then be version or day'),
    )
    .addOption(
      new Option('--store <place>', 'read this ledger instead of asking a gateway: a file, or postgres://… of a fleet'),
    )
    .addOption(new Option('--names <file>', 'with --store: file of client names, as for usage.names'))
    .action(async (subject: NamedSubject | undefined, options: UsageOptions) =>
      finish(await usage(subject, options, io)),
    );
};

/** @throws UsageError, AdminError, UnreadableFileError */
async function usage(subject: NamedSubject | undefined, options: UsageOptions, io: Io): Promise<ExitCode> {
  const { store, names } = options;
  checkNames(names, store);
  const { by, instance } = options;
  const version = subject?.version;
  const fault =
    subject?.route && whyRouteNotAllowed({ by: by ?? defaultGrouping(version, instance), version, instance });
  if (fault !== undefined) throw new UsageError(`A route ${fault}`);
  const storeOptions = { ...options, ...(names !== undefined && { names: resolve(io.cwd, names) }) };
  const endpoint = store === undefined ? adminEndpointOf(options, io) : undefined;
  const report = await (endpoint
    ? reportFromGateway(subject, options, endpoint)
    : reportFromStore(store ?? '', subject, storeOptions, io.cwd, systemClock.now()));
  printAnswer(report, { ...options, endpoint, io }, (paint, width) => {
    return options.format === 'csv' ? usageCsv(report) : usageAsText(report, paint, width);
  });
  return 0;
}

/** @throws AdminError */
async function reportFromGateway(
  subject: NamedSubject | undefined,
  options: UsageOptions,
  endpoint: AdminEndpoint,
): Promise<UsageReport> {
  const { since, by, instance } = options;
  const { version, route } = subject ?? {};
  const query = { since: since.text, by, version, route: route && `${route.method} ${route.path}`, instance };
  return askGateway(endpoint, 'GET /api/usage', { query });
}

/** Reads a ledger directly. `now` is in epoch ms. @throws UsageError */
async function reportFromStore(
  store: string,
  subject: NamedSubject | undefined,
  { by, since, names, instance }: Pick<UsageOptions, 'by' | 'since' | 'names' | 'instance'>,
  cwd: string,
  now: number,
): Promise<UsageReport> {
  const { ledger, stateOf } = await openLedger(store, cwd, names);
  return readAndClose(ledger, async () => {
    const version = subject?.version;
    const query = { by: by ?? defaultGrouping(version, instance), step: 'day', instance } as const;
    const fault = await instanceFault(ledger, query);
    if (fault !== undefined) throw new UsageError(`--instance: ${fault}`);
    // Without a routes.yaml, only the routes in the ledger are known.
    const route = subject?.route && (await routeOrReason(subject.version, subject.route, undefined, ledger));
    if (ledger.problem !== undefined) throw unreadableLedger(store, ledger.problem);
    if (typeof route === 'string') throw new UsageError(`No such route: ${printable(route)}`);
    const successor = await nextMajorIn(ledger);
    const period = { since: Math.max(0, now - since.ms), until: now };
    const live = stateOf([version ?? ''], since.ms)?.facts.get(version ?? '');
    const report = await usageReport(ledger, { ...query, ...period, version, route, successor, ...(live && { live }) });
    // Without the unreadable rows the report would show too few requests.
    if (report.problem !== null) throw unreadableLedger(store, report.problem);
    // The ledger was read, so its `problems` can only be about the file of names.
    if (names !== undefined && ledger.problems[0] !== undefined) throw new UsageError(printable(ledger.problems[0]));
    return report;
  });
}

/** Without a routes.yaml, the successor of a version is the next higher major of its API in the ledger. */
async function nextMajorIn(ledger: UsageQueries): Promise<(version: string) => string | undefined> {
  const totals = await ledger.totals(0);
  const ids = totals.flatMap(({ version }) => (isId(version) ? [version] : [])).sort(compareIds);
  return (version) => {
    // '' stands for the requests without a version.
    if (version === '') return undefined;
    return ids.find((id) => baseOf(id) === baseOf(version) && majorOf(id) > majorOf(version));
  };
}
