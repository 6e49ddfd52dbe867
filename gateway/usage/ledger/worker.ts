import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/clock.ts';
import { Ledger } from './ledger.ts';
import type { LedgerCommand, LedgerNotice, LedgerStart, LedgerState } from './workerMessages.ts';

// The thread that writes the usage ledger. It alone holds a connection that writes.

// Requests come first where both threads share a core. Only Linux has a priority for each thread.
try {
  if (process.platform === 'linux') setPriority(5);
} catch {
  // A sandbox may not permit this call.
}
const { settings, salt, session, interruption } = workerData as LedgerStart;
const ledger = Ledger.open(settings, {
  clock: systemClock,
  salt,
  interruption,
  onNotice: (line) => post({ kind: 'notice', line }),
});
// Batches that a thread before this one has written, and could not report any more.
const [lastSession, lastNumber] = ledger.mark.split(' ');
const written = lastSession === session ? Number(lastNumber) : 0;
report(0);

parentPort?.on('message', (order: LedgerCommand) => {
  if (order.kind === 'write') {
    // An empty batch is no reason to write.
    const mark = order.batch.length > 0 ? `${session} ${order.number}` : undefined;
    if (order.number > written) ledger.add(order.batch, mark);
  } else if (order.kind === 'configure') ledger.configure(order.settings);
  else if (order.kind === 'maintain') ledger.maintain(order.now);
  else ledger.close();
  report(order.number);
  if (order.kind === 'close') parentPort?.close();
});

function report(number: number): void {
  const { salt, problem, incident, held, foldedHere } = ledger;
  post({ kind: 'state', number, salt, problem, incident, held, foldedHere });
}

function post(message: LedgerState | LedgerNotice): void {
  parentPort?.postMessage(message);
}
