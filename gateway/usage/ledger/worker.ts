import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/clock.ts';
import { lowerThreadPriority } from '../../shared/threadPriority.ts';
import { Ledger } from './ledger.ts';
import type { LedgerCommand, LedgerNotice, LedgerReport, LedgerWorkerData } from './writableLedger.ts';

// The entry point of the thread that writes the usage ledger. No other connection writes to the file.

lowerThreadPriority();
const { settings, salt, session, gapReason, marksAtStart, earlierRun, isShared } = workerData as LedgerWorkerData;
const ledger = Ledger.open(settings, {
  clock: systemClock,
  salt,
  gapReason,
  marksAtStart,
  earlierRun,
  isShared,
  onNotice: (line) => post({ kind: 'notice', line }),
});
const noCommand = 0;
// A previous thread of this session may have written batches and ended before it reported them.
const [markedSession, markedNumber] = ledger.lastBatchMark.split(' ');
const writtenNumber = markedSession === session ? Number(markedNumber) : 0;
report(noCommand);

parentPort?.on('message', (command: LedgerCommand) => {
  if (command.kind === 'write') {
    // Without rows there is nothing that a later thread could write twice.
    const batchMark = command.batch.length > 0 ? `${session} ${command.number}` : undefined;
    if (command.number > writtenNumber) ledger.addBatch(command.batch, command.counted, batchMark);
  } else if (command.kind === 'losses') ledger.addLosses(command.losses, command.counted);
  else if (command.kind === 'configure') ledger.configure(command.settings);
  else if (command.kind === 'sent') ledger.removeSent(command.epoch, command.seq);
  else if (command.kind === 'adoptSalt') ledger.adoptSalt(command.salt);
  else if (command.kind === 'brownouts') ledger.saveBrownouts(command.records);
  else if (command.kind === 'evidence') ledger.saveEvidence(command.rows);
  else if (command.kind === 'maintain') ledger.maintain(command.now);
  else ledger.close();
  report(command.number);
  if (command.kind === 'close') parentPort?.close();
});

function report(number: number): void {
  const { salt, problem, lastIncident, unwrittenRows, unwrittenSince, unwrittenLosses, movedRequests } = ledger;
  const { brownouts, outbox, run } = ledger;
  post({
    kind: 'state',
    number,
    salt,
    problem,
    lastIncident,
    unwrittenRows,
    unwrittenSince,
    unwrittenLosses,
    movedRequests,
    brownouts,
    outbox,
    run,
  });
}

function post(message: LedgerReport | LedgerNotice): void {
  parentPort?.postMessage(message);
}
