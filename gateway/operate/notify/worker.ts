import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/clock.ts';
import { lowerThreadPriority } from '../../shared/threadPriority.ts';
import { Dispatcher, type DispatcherSettings, type NotifyCommand, type NotifyReport } from './dispatcher.ts';

// The entry point of the thread that sends notifications. Disk, store and receivers may be slow, and must not delay requests.

// The queue is read again after at most this time, because another gateway of the fleet may have queued an event.
const longestWaitMs = 5_000;
const shortestWaitMs = 1_000;
/** How long events that are being sent may take when the gateway stops. Those that take longer are sent again at the next start. */
const closeMs = 1_000;

lowerThreadPriority();
const notice = (line: string): void => post({ kind: 'notice', line });
const dispatcher = new Dispatcher(workerData as DispatcherSettings, systemClock, notice);
let isClosing = false;
let timer: NodeJS.Timeout | undefined;
/** The last run or command. Each one starts when the previous one has ended. */
let lastTask: Promise<void> = run();

parentPort?.on('message', (command: NotifyCommand) => {
  lastTask = lastTask.then(() => carryOut(command));
});

async function carryOut(command: NotifyCommand): Promise<void> {
  if (command.kind === 'configure') dispatcher.configure(command.settings);
  else if (command.kind === 'test') {
    // Without `await`: a receiver that hangs must not delay the others.
    void dispatcher.test(command.event).then((results) => post({ kind: 'tested', number: command.number, results }));
    return;
  } else if (command.kind === 'events') await dispatcher.add(command.events);
  else {
    isClosing = true;
    clearTimeout(timer);
    await dispatcher.awaitSending(closeMs);
    await dispatcher.close();
    parentPort?.close();
    return;
  }
  await run();
}

async function run(): Promise<void> {
  clearTimeout(timer);
  if (isClosing) return;
  const pause = await dispatcher.run();
  post({ kind: 'status', status: await dispatcher.status() });
  const runNext = (): void => {
    lastTask = lastTask.then(run);
  };
  timer = setTimeout(runNext, Math.min(longestWaitMs, Math.max(shortestWaitMs, pause)));
}

function post(report: NotifyReport): void {
  parentPort?.postMessage(report);
}
