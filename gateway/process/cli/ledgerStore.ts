import { resolve } from 'node:path';
import { ignoredClientsOf } from '../../config/api.ts';
import type { FleetSettings, Snapshot } from '../../config/snapshot.ts';
import { withAbsoluteFiles } from '../../config/storeUrl.ts';
import type { StoredGateways } from '../../operate/fleet/storedGateways.ts';
import { messageOf, printable } from '../../shared/text.ts';
import type { LedgerDatabase } from '../../usage/ledger/database.ts';
import { LedgerReader } from '../../usage/ledger/reader.ts';
import {
  type LiveState,
  liveFactsOf,
  periodOfQuestion,
  type QuestionPeriod,
} from '../../versions/retirement/liveFacts.ts';
import { UsageError } from './io.ts';

// Commands that read a ledger without a gateway: `--store FILE` or `--store postgres://…`.

/** Where a ledger is. */
export interface LedgerPlace extends Partial<Pick<FleetSettings, 'passwordFile'>> {
  /** A file, or `postgres://…`. */
  readonly store: string;
  /** How long a statement of a store may take, ms. */
  readonly timeoutMs?: number;
}

/** A ledger from which a command answers without a gateway. */
export interface LedgerEvidence {
  readonly ledger: LedgerReader;
  /** Versions that gateways of the fleet serve, as they have reported. Empty for a file. */
  readonly servedVersions: readonly string[];
  /**
   * What the gateways of the fleet have reported about the calls of these versions. Undefined for a file: its losses are in the coverage
   * of the ledger. `quiet`: the length of the period of the question, ms, or that of each version.
   */
  readonly stateOf: (versions: Iterable<string>, quiet: QuestionPeriod) => LiveState | undefined;
}

/**
 * For reports on past calls: of a file, the time since its last write does not count as missing. Parameters as of `openEvidence`.
 * @throws UsageError
 */
export async function openLedger(
  store: string,
  cwd: string,
  namesFile: string | undefined,
): Promise<Pick<LedgerEvidence, 'ledger' | 'stateOf'>> {
  if (isStoreUrl(store)) {
    const evidence = await openEvidence({ store }, cwd, namesFile, { fleet: undefined });
    evidence.ledger.unwritten = undefined;
    return evidence;
  }
  try {
    return { ledger: LedgerReader.open(resolve(cwd, store), namesFile), stateOf: () => undefined };
  } catch (error) {
    throw unreadableLedger(store, messageOf(error));
  }
}

/**
 * Calls that a gateway has not recorded yet count as missing. For a fleet, waits some seconds until the gateways have sent their counts.
 * `namesFile`: the file of client names, absolute. `configuration`: the one that the question is about. @throws UsageError
 */
export async function openEvidence(
  place: LedgerPlace,
  cwd: string,
  namesFile: string | undefined,
  configuration: Pick<Snapshot, 'fleet'> & Partial<Pick<Snapshot, 'apis'>>,
): Promise<LedgerEvidence> {
  const { store, timeoutMs } = place;
  let ledger: LedgerReader | undefined;
  try {
    if (!isStoreUrl(store)) {
      const { apis } = configuration;
      ledger = LedgerReader.openAlone(resolve(cwd, store), namesFile, apis && ignoredClientsOf({ apis }));
      return { ledger, servedVersions: [], stateOf: () => undefined };
    }
    const { FleetLedger } = await import('../../operate/fleet/ledger.ts');
    const { StoredGateways } = await import('../../operate/fleet/storedGateways.ts');
    const database = await FleetLedger.open(settingsOf(place, cwd), timeoutMs);
    ledger = readerOf(database, namesFile);
    const gateways = await StoredGateways.read(database, configuration.fleet);
    if (gateways.isNoneHeard) ledger.unwritten = { now: () => gateways.now };
    const stateOf = (versions: Iterable<string>, quiet: QuestionPeriod) => stateFrom(gateways, versions, quiet);
    return { ledger, servedVersions: gateways.servedVersions, stateOf };
  } catch (error) {
    await ledger?.close();
    throw unreadableLedger(store, messageOf(error));
  }
}

function stateFrom(
  gateways: Pick<StoredGateways, 'facts'>,
  versions: Iterable<string>,
  quiet: QuestionPeriod,
): LiveState {
  const report = { versions: [], workers: [] };
  const fleet = new Map(
    [...versions].map((version) => [version, gateways.facts(version, periodOfQuestion(quiet, version))] as const),
  );
  const facts = [...fleet].map(
    ([version, ofFleet]) => [version, liveFactsOf(version, report, { fleet: ofFleet })] as const,
  );
  return { report, fleet, facts: new Map(facts) };
}

function settingsOf({ store, passwordFile }: LedgerPlace, cwd: string): Pick<FleetSettings, 'store' | 'passwordFile'> {
  return { store: withAbsoluteFiles(store, cwd), passwordFile };
}

function readerOf(database: LedgerDatabase, namesFile: string | undefined): LedgerReader {
  const ledger = new LedgerReader(database);
  ledger.readClientNames(namesFile);
  return ledger;
}

function isStoreUrl(store: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(store);
}

/** Closes the ledger afterwards. */
export async function readAndClose<Result>(ledger: LedgerReader, read: () => Promise<Result>): Promise<Result> {
  try {
    return await ledger.readConsistently(read);
  } finally {
    await ledger.close();
  }
}

/** Of the options `--names` and `--store`. @throws UsageError */
export function checkNames(names: string | undefined, store: string | undefined): void {
  if (names !== undefined && store === undefined)
    throw new UsageError('--names requires --store: a running gateway reads its own usage.names.');
}

/** `reason`: one sentence. */
export function unreadableLedger(store: string, reason: string): UsageError {
  // The URL may contain a password.
  if (isStoreUrl(store)) return new UsageError(printable(reason));
  const remedy = 'Give the usage.store of a gateway.';
  return new UsageError(
    printable(`${store} cannot be read as a usage ledger: ${reason.replace(/\.$/, '')}.  ${remedy}`),
  );
}
