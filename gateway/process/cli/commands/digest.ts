import { resolve } from 'node:path';
import { Option } from 'commander';
import { longestQuiet } from '../../../config/api.ts';
import { asHtml } from '../../../operate/notify/formats.ts';
import { digestEvent } from '../../../operate/notify/ledgerEvents.ts';
import { type Document, documentAsMarkdown } from '../../../shared/document.ts';
import { printable } from '../../../shared/text.ts';
import { askGateway } from '../adminClient.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import { checkNames, openEvidence, readAndClose, unreadableLedger } from '../ledgerStore.ts';
import {
  type AdminEndpointOptions,
  addAdminEndpointOptions,
  adminEndpointOf,
  defaultConfig,
  formatOption,
  periodArgument,
  snapshotOf,
  type TimeArgument,
} from '../options.ts';

interface DigestOptions extends AdminEndpointOptions {
  readonly format: 'markdown' | 'html';
  readonly since: TimeArgument;
  readonly store?: string;
  readonly names?: string;
}

// Longer than a gateway waits for its ledger.
const digestTimeoutMs = 65_000;
// Longer than a gateway waits for the receivers.
const testTimeoutMs = 25_000;

export const addDigest: AddCommand = (program, io, finish) => {
  addAdminEndpointOptions(program.command('digest'))
    .description(
      'Print a summary for an e-mail: what changed, who still calls which deprecated version, what prevents a retirement, and the next dates.',
    )
    .addOption(formatOption(['markdown', 'html']))
    .addOption(
      new Option('--since <duration>', 'period to report, up to now; at least 1h')
        .argParser(periodArgument)
        .default(periodArgument('7d'), '7d'),
    )
    .addOption(
      new Option(
        '--store <place>',
        'read this ledger instead of asking a gateway: a file, or postgres://… of a fleet; the configuration is read from --config',
      ),
    )
    .addOption(new Option('--names <file>', 'with --store: file of client names (default: usage.names of --config)'))
    .action(async (options: DigestOptions) => finish(await digest(options, io)));
};

export const addNotify: AddCommand = (program, io, finish) => {
  const notify = program.command('notify').description('Check the webhooks of notify.');
  addAdminEndpointOptions(notify.command('test'))
    .description('Send a test event to every webhook. Exits 1 if one does not accept it.')
    .action(async (options: AdminEndpointOptions) => finish(await testReceivers(options, io)));
};

/** @throws UsageError, AdminError, UnreadableFileError */
async function digest(options: DigestOptions, io: Io): Promise<ExitCode> {
  const { store, names, format, since } = options;
  if (since.ms < 3_600_000) throw new UsageError('--since must be 1h or more: the ledger counts by the hour.');
  checkNames(names, store);
  const found = store === undefined ? await digestFromGateway(options, io) : await digestFromStore(store, options, io);
  io.stdout.write(format === 'html' ? asHtml(found) : documentAsMarkdown(found));
  return 0;
}

/** @throws AdminError */
function digestFromGateway(options: DigestOptions, io: Io): Promise<Document> {
  // The digest is a document that names the gateway itself.
  const endpoint = adminEndpointOf(options, io, 'stderr');
  const query = { since: options.since.text };
  return askGateway(endpoint, 'GET /api/digest', { query, timeoutMs: digestTimeoutMs });
}

/** Reads a ledger directly. @throws UsageError, UnreadableFileError */
async function digestFromStore(store: string, { config, since, names }: DigestOptions, io: Io): Promise<Document> {
  const snapshot = snapshotOf(config ?? defaultConfig(io.cwd) ?? 'routes.yaml', io);
  const namesFile = names === undefined ? snapshot.usage.names : resolve(io.cwd, names);
  const { ledger, stateOf } = await openEvidence({ store }, io.cwd, namesFile, snapshot);
  return readAndClose(ledger, async () => {
    const now = Date.now();
    const found = await digestEvent({
      snapshot,
      queries: ledger,
      state: stateOf(snapshot.versions.keys(), Math.max(longestQuiet(snapshot, 'retire'), 2 * since.ms)),
      gateway: undefined,
      since: Math.max(0, now - since.ms),
      now,
    });
    if (found === undefined) throw unreadableLedger(store, ledger.problem ?? '');
    return found;
  });
}

/** @throws AdminError */
async function testReceivers(options: AdminEndpointOptions, io: Io): Promise<ExitCode> {
  const endpoint = adminEndpointOf(options, io);
  const { results } = await askGateway(endpoint, 'POST /api/notify/test', { timeoutMs: testTimeoutMs });
  for (const { host, accepted, result } of results)
    io.stdout.write(printable(`${host}  ${accepted ? 'accepted' : 'not accepted'}  ${result}`).concat('\n'));
  if (results.length === 0) io.stderr.write('No result: see the log of the gateway.\n');
  return results.length > 0 && results.every(({ accepted }) => accepted) ? 0 : 1;
}
