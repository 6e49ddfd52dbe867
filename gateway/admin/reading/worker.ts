import { parentPort } from 'node:worker_threads';
import type { Snapshot } from '../../config/snapshot.ts';
import { fromPlain } from '../../config/transfer.ts';
import { LedgerReader } from '../../usage/ledger/reader.ts';
import { answerTo } from './answers.ts';
import type { ReaderReply, ReaderRequest } from './ledgerClient.ts';

// The entry point of the thread that reads the ledger. SQLite blocks its thread; here it delays no request.

let snapshot: Snapshot | undefined;
let reader: LedgerReader | undefined;

parentPort?.on('message', ({ kind, parameters, snapshot: next, ledger }: ReaderRequest) => {
  if (next) snapshot = fromPlain(next);
  const queries = readerOf(ledger);
  const answer = queries.snapshot(() => answerTo(kind, queries, snapshot as Snapshot, parameters));
  const reply: ReaderReply = { answer };
  parentPort?.postMessage(reply, answer !== undefined && 'body' in answer ? [answer.body.buffer] : []);
});

/** The open reader, or a new one if the file was replaced. */
function readerOf({ file, names, problem, waitingRows }: ReaderRequest['ledger']): LedgerReader {
  if (reader?.isCurrent === false) {
    reader.close();
    reader = undefined;
  }
  try {
    reader ??= LedgerReader.open(file, names);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return LedgerReader.unreadable(file, problem ?? `${file} cannot be read: ${reason}.`, waitingRows);
  }
  reader.readNames(names);
  Object.assign(reader, { problem, waitingRows });
  return reader;
}
