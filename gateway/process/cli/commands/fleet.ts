import { resolve } from 'node:path';
import { withAbsoluteFiles } from '../../../config/storeUrl.ts';
import type { FleetJson } from '../../../operate/fleet/fleetJson.ts';
import type { ForgetOutcome, Forgotten } from '../../../operate/fleet/forget.ts';
import type { ImportOutcome } from '../../../operate/fleet/importLedger.ts';
import type { Postgres } from '../../../operate/fleet/postgres.ts';
import { dayText, isoText } from '../../../shared/instant.ts';
import { plural, printable, withCommas } from '../../../shared/text.ts';
import { askGateway } from '../adminClient.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import {
  addAdminEndpointOptions,
  adminEndpointOf,
  dateTimeArgument,
  formatOption,
  type PrintOptions,
} from '../options.ts';
import { fleetAsText } from '../output/fleetText.ts';
import { printAnswer } from '../output/terminal.ts';

interface FleetOptions extends PrintOptions {
  readonly store?: string;
}

interface ForgetOptions extends FleetOptions {
  readonly reason: string;
  /** Epoch ms. */
  readonly endedAt?: number;
}

const storeOption = [
  '--store <url>',
  'ask the PostgreSQL database of the fleet (postgres://…) instead of a gateway',
] as const;

export const addFleet: AddCommand = (program, io, finish) => {
  const command = addAdminEndpointOptions(program.command('fleet'))
    .description(
      'Show the gateways of a fleet: when each was last heard, its configuration, and how many counts wait for the shared store.',
    )
    .addOption(formatOption(['text', 'json']))
    .option(...storeOption)
    .action(async (options: FleetOptions) => finish(await fleet(options, io)));
  command
    .command('forget')
    .description(
      'Mark a silent gateway as gone, because it does not exist any more. While a gateway is silent, no version may be retired. Its calls between its last report and its end are not known, so a quiet period begins when it ended. A gateway that is heard again is no longer gone.',
    )
    .argument('<name>', 'name of the gateway, as version-gateway fleet lists it')
    .requiredOption('--reason <text>', 'why it does not exist any more; kept in the store')
    .option(
      '--ended-at <time>',
      'when it ended, such as 2026-11-23T21:10:00Z. Its calls since it was last heard are not known until then. Without this option, it may have served clients until now. Also accepted for a gateway that is gone already',
      dateTimeArgument,
    )
    .action(async (name: string, _options: object, subcommand: { optsWithGlobals(): ForgetOptions }) =>
      finish(await forget(name, subcommand.optsWithGlobals(), io)),
    );
  command
    .command('import')
    .description(
      'Add the counts of a ledger file to the shared store (--store). Do this before the gateway of the file joins the fleet. A second import of the same file changes nothing.',
    )
    .argument('<file>', 'ledger of a gateway, such as .version-gateway/usage.db')
    .action(async (file: string, _options: object, subcommand: { optsWithGlobals(): FleetOptions }) =>
      finish(await importFile(file, subcommand.optsWithGlobals(), io)),
    );
};

/** @throws AdminError, UnreadableFileError, UsageError */
async function fleet(options: FleetOptions, io: Io): Promise<ExitCode> {
  const { format, store } = options;
  const endpoint = store === undefined ? adminEndpointOf(options, io) : undefined;
  const found = await (endpoint ? askGateway(endpoint, 'GET /api/fleet') : withStore(store ?? '', io, readFleet));
  printAnswer(found, { format, endpoint, io }, (paint, width) => fleetAsText(found, paint, width));
  return 0;
}

/** @throws AdminError, UnreadableFileError, UsageError */
async function forget(name: string, options: ForgetOptions, io: Io): Promise<ExitCode> {
  const { store, reason, endedAt } = options;
  if (reason.trim() === '') throw new UsageError('--reason must say why the gateway does not exist any more.');
  const outcome = await (store === undefined
    ? forgetByGateway(name, options, io)
    : withStore(store, io, (postgres) => forgetInStore(postgres, { name, reason, endedAt })));
  if ('refused' in outcome) throw new UsageError(printable(outcome.refused));
  const shownName = printable(name);
  if (outcome.forgotten === 0) throw new UsageError(`Gateway ${shownName} was heard in the meantime.  Stop it first.`);
  const count = outcome.forgotten === 1 ? '' : ` (${plural(outcome.forgotten, 'gateway')} with this name)`;
  io.stdout.write(`${shownName} is marked as gone${count}\n`);
  return 0;
}

// Importing a year of calls by many clients takes minutes.
const importTimeoutMs = 3_600_000;

/** @throws UsageError */
async function importFile(file: string, { store }: FleetOptions, io: Io): Promise<ExitCode> {
  if (store === undefined) throw new UsageError('Name the database of the fleet: --store postgres://…');
  const { importLedger, ImportError } = await import('../../../operate/fleet/importLedger.ts');
  const path = resolve(io.cwd, file);
  const outcome = await withStore(store, io, (postgres) => importLedger(postgres, path), importTimeoutMs).catch(
    (error) => {
      throw error instanceof ImportError ? new UsageError(printable(error.message)) : error;
    },
  );
  io.stdout.write(`${importText(printable(file), outcome)}\n`);
  return 0;
}

function importText(file: string, outcome: ImportOutcome): string {
  const dayOf = (at: number): string => dayText(at);
  if (outcome.kind === 'unchanged') return `${file} was imported on ${dayOf(outcome.at)}; nothing to do`;
  const { requests, from, until, foreignTags } = outcome;
  const period = requests === 0 ? '' : `, from ${dayOf(from)} to ${dayOf(until)}`;
  const foreignTagsNote =
    foreignTags === 0
      ? ''
      : `\nCounted as other clients, because the fleet makes tags with another salt: ${plural(foreignTags, 'client')} with a tag`;
  return `${withCommas(requests)} requests imported${period}${foreignTagsNote}`;
}

function forgetByGateway(name: string, options: ForgetOptions, io: Io): Promise<ForgetOutcome> {
  const { reason, endedAt } = options;
  const ended = endedAt === undefined ? {} : { ended_at: isoText(endedAt) };
  return askGateway(adminEndpointOf(options, io), 'POST /api/fleet/forget', { body: { name, reason, ...ended } });
}

/** The code for PostgreSQL is loaded only here. @throws UsageError */
async function withStore<Result>(
  store: string,
  { cwd }: Pick<Io, 'cwd'>,
  work: (postgres: Postgres) => Promise<Result>,
  queryTimeoutMs?: number,
): Promise<Result> {
  if (!/^postgres(?:ql)?:\/\//.test(store)) throw new UsageError('--store must be a postgres:// URL.');
  const { Postgres, StoreError } = await import('../../../operate/fleet/postgres.ts');
  let postgres: Postgres | undefined;
  try {
    const settings = { store: withAbsoluteFiles(store, cwd), passwordFile: undefined };
    postgres = await Postgres.open(settings, queryTimeoutMs === undefined ? {} : { queryTimeoutMs });
    return await work(postgres);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // 42P01: undefined_table. 3F000: invalid_schema_name.
    const isEmpty = error.code === '42P01' || error.code === '3F000';
    const reason = isEmpty ? 'no gateway has used this database yet' : error.message.replace(/\.$/, '');
    throw new UsageError(`The fleet's store cannot be used: ${printable(reason)}.`);
  } finally {
    await postgres?.close();
  }
}

// The default of fleet.silent_after, for gateways of an earlier release, which do not report their setting.
const silentAfterMs = 10_000;

async function readFleet(postgres: Postgres): Promise<FleetJson> {
  const [{ readGateways }, { instancesOf }, { fleetJson }] = await Promise.all([
    import('../../../operate/fleet/membership.ts'),
    import('../../../operate/fleet/fleetView.ts'),
    import('../../../operate/fleet/fleetJson.ts'),
  ]);
  const { rows, now } = await readGateways(postgres);
  return fleetJson({ problem: undefined, now, instances: instancesOf({ rows }, now, silentAfterMs) });
}

async function forgetInStore(postgres: Postgres, forgotten: Forgotten): Promise<ForgetOutcome> {
  const { forgetGateway } = await import('../../../operate/fleet/forget.ts');
  return forgetGateway(postgres, forgotten, silentAfterMs);
}
