import { parentPort } from 'node:worker_threads';
import type { Snapshot } from '../../config/snapshot.ts';
import { fromPlain } from '../../config/transfer.ts';
import { LedgerReader } from '../../usage/ledger/reader.ts';
import { answerTo } from './answers.ts';
import type { ReaderReply, ReaderRequest } from './ledgerClient.ts';

// The entry point of the thread that reads the ledger. SQLite blocks its thread; here it delays no request.

let snapshot: Snapshot | undefined;
let reader: LedgerReader | undefined;

/** Settles when the last request is answered. */
let last: Promise<void> = Promise.resolve();

// One request after the other: all of them read through one connection, and each one in a transaction of its own.
parentPort?.on('message', (request: ReaderRequest) => {
  last = last.then(() => reply(request));
});

async function reply({ kind, parameters, snapshot: next, ledger }: ReaderRequest): Promise<void> {
  if (next) snapshot = fromPlain(next);
  const queries = await readerOf(ledger);
  const answer = await queries.snapshot(() => answerTo(kind, queries, snapshot as Snapshot, parameters));
  const message: ReaderReply = { answer };
  parentPort?.postMessage(message, answer !== undefined && 'body' in answer ? [answer.body.buffer] : []);
}

/** The open reader, or a new one if the file was replaced. */
async function readerOf({ file, names, problem, waitingRows }: ReaderRequest['ledger']): Promise<LedgerReader> {
  if (reader?.isCurrent === false) {
    await reader.close();
    reader = undefined;
  }
  try {
    reader ??= LedgerReader.open(file, names);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return LedgerReader.unreadable(problem ?? `${file} cannot be read: ${reason}.`, waitingRows);
  }
  reader.readNames(names);
  Object.assign(reader, { problem, waitingRows });
  return reader;
}
