import { parentPort } from 'node:worker_threads';
import type { FleetSettings, Snapshot } from '../../../config/snapshot.ts';
import { fromPlain } from '../../../config/transfer.ts';
import { messageOf } from '../../../shared/text.ts';
import { LedgerReader } from '../../../usage/ledger/reader.ts';
import type { FleetLedger } from '../../fleet/ledger.ts';
import { answerTo } from './answers.ts';
import type { ReaderReply, ReaderRequest } from './ledgerClient.ts';

// The entry point of the thread that reads the ledger. SQLite blocks the thread that calls it; in this thread, it delays no
// request. The store of a fleet is also read here, because its answers may have tens of thousands of rows.

let snapshot: Snapshot | undefined;
let reader: LedgerReader | undefined;
/** In a fleet: the store that `reader` reads. */
let sharedLedger: FleetLedger | undefined;
/** In a fleet: the ledger file of this gateway. */
let ownLedger: LedgerReader | undefined;

/** Settles when the last request is answered. */
let lastReply: Promise<void> = Promise.resolve();

// One request after the other: all of them read through one connection, and each one in a transaction of its own.
parentPort?.on('message', (request: ReaderRequest) => {
  lastReply = lastReply.then(() => reply(request));
});

async function reply({ number, kind, parameters, snapshot: next, ledger }: ReaderRequest): Promise<void> {
  if (next) snapshot = fromPlain(next);
  const queries = await readerOf(ledger);
  const answer = await queries.readConsistently(() => answerTo(kind, queries, snapshot as Snapshot, parameters));
  const message: ReaderReply = { number, answer };
  // The buffer of an encoded body is transferred, not copied.
  const hasEncodedBody = answer !== undefined && 'body' in answer && typeof answer.body !== 'string';
  parentPort?.postMessage(message, hasEncodedBody ? [answer.body.buffer] : []);
}

/** The open reader, or a new one if the file was replaced. */
async function readerOf({
  file,
  fleet,
  memory,
  namesFile,
  writeProblem,
  unwrittenRows,
}: ReaderRequest['ledger']): Promise<LedgerReader> {
  if (reader?.isCurrent === false) {
    await reader.close();
    reader = undefined;
  }
  try {
    reader ??= fleet ? await openFleetLedger(fleet) : LedgerReader.open(file, namesFile);
    if (sharedLedger) sharedLedger.memory = memory;
  } catch (error) {
    const reason = messageOf(error);
    const ledger = fleet ? "The fleet's store" : file;
    return LedgerReader.unreadable(writeProblem ?? `${ledger} cannot be read: ${reason}.`, unwrittenRows);
  }
  reader.readClientNames(namesFile);
  if (fleet) reader.evidence = await ownEvidence(file);
  Object.assign(reader, { problem: writeProblem, unwrittenRows });
  return reader;
}

/** The code for PostgreSQL is loaded only here, in a gateway of a fleet. @throws StoreError */
async function openFleetLedger(fleet: FleetSettings): Promise<LedgerReader> {
  const { FleetLedger } = await import('../../fleet/ledger.ts');
  sharedLedger = await FleetLedger.open(fleet);
  return new LedgerReader(sharedLedger);
}

/** The evidence is what `shadow` and `drift` found in responses. The store of a fleet has none: each gateway keeps its own in its file. */
async function ownEvidence(file: string): Promise<LedgerReader['evidence']> {
  if (ownLedger?.isCurrent === false) {
    await ownLedger.close();
    ownLedger = undefined;
  }
  try {
    ownLedger ??= LedgerReader.open(file);
  } catch {
    // There is no evidence before the file exists.
  }
  return ownLedger?.evidence;
}
