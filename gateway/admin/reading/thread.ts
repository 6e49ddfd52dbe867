import { parentPort } from 'node:worker_threads';
import type { Snapshot } from '../../config/snapshot.ts';
import { fromPlain } from '../../config/transfer.ts';
import { LedgerReader } from '../../usage/ledger/reader.ts';
import { answerTo } from './answers.ts';
import type { Order, Reply } from './orders.ts';

// The thread in which a ledger is read: a question to SQLite holds up whoever asks it, and here nobody else waits.

let snapshot: Snapshot | undefined;
let reader: LedgerReader | undefined;

parentPort?.on('message', ({ kind, question, snapshot: next, ledger }: Order) => {
  if (next) snapshot = fromPlain(next);
  const queries = opened(ledger);
  const work = (): Reply['answer'] => answerTo(kind, queries, snapshot as Snapshot, question);
  const answer = queries.snapshot(work);
  const reply: Reply = { answer };
  parentPort?.postMessage(reply, answer !== undefined && 'body' in answer ? [answer.body.buffer] : []);
});

function opened({ file, names, problem, held }: Order['ledger']): LedgerReader {
  if (reader?.isCurrent === false) {
    reader.close();
    reader = undefined;
  }
  try {
    reader ??= LedgerReader.open(file, names);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return LedgerReader.unreadable(file, problem ?? `${file} cannot be read: ${reason}.`, held);
  }
  reader.readNames(names);
  Object.assign(reader, { problem, held });
  return reader;
}
