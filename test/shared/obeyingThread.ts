import { parentPort, workerData } from 'node:worker_threads';

// A thread for tests: it does what it is told.

export type TestCommand =
  | { readonly kind: 'echo'; readonly number: number; readonly text: string }
  | { readonly kind: 'silence'; readonly number: number }
  | { readonly kind: 'hang' | 'crash' | 'exit' | 'flood' | 'close' }
  | { readonly kind: 'say'; readonly text: string };

export type TestReport =
  | { readonly number: number; readonly text: string }
  | { readonly thread: number; readonly text: string };

const { failsAtStart, thread } = workerData as { readonly failsAtStart: boolean; readonly thread: number };
if (failsAtStart) throw new Error('no start');

parentPort?.on('message', (command: TestCommand) => {
  const { kind } = command;
  if (kind === 'echo') post({ number: command.number, text: command.text });
  else if (kind === 'say') post({ thread, text: command.text });
  else if (kind === 'crash') throw new Error('told to crash');
  else if (kind === 'exit') process.exit(7);
  else if (kind === 'hang') for (;;);
  else if (kind === 'flood') setInterval(() => post({ thread, text: 'flood' }), 0);
  else if (kind === 'close') parentPort?.close();
});

function post(report: TestReport): void {
  parentPort?.postMessage(report);
}
