import { type RunningGateway, startGateway } from '../runtime/gateway.ts';
import { tooFewOpenFiles } from '../runtime/openFiles.ts';
import { isWorker, runWorker } from '../runtime/worker.ts';
import { systemClock } from '../shared/clock.ts';
import { endProcess } from '../shared/endProcess.ts';
import { ThreadedLedger } from '../usage/ledger/threadedLedger.ts';
import { banner } from './banner.ts';
import type { AddCommand } from './command.ts';
import { configOption } from './configOption.ts';
import { keepYoungGenerationSmall } from './heap.ts';
import type { ExitCode, Io } from './io.ts';
import { checkAddress, listenFailure } from './listenAddress.ts';
import { brokenPromises, promiseKeeper } from './promises.ts';
import { ReloadOnEdits } from './reloadOnEdits.ts';
import { RoutesFile, type StartOptions } from './routesFile.ts';
import { serveWith } from './serveWith.ts';
import { shutDown } from './shutdown.ts';
import { stopSignal } from './stopSignal.ts';

export const addStart: AddCommand = (program, io, finish) => {
  program
    .command('start')
    .description('Start the gateway.')
    .addOption(configOption(io.cwd))
    .option('--listen <host:port>', 'overrides gateway.listen', checkAddress)
    .option('--admin <host:port>', 'overrides gateway.admin', checkAddress)
    .addHelpText('after', signalsAndExitCodes)
    .action(async (options: StartOptions) => finish(await start(options, io)));
};

const signalsAndExitCodes = `
Signals
  SIGTERM, SIGINT  stop: requests in flight have gateway.drain to finish; a second signal ends it at once
  SIGHUP           read routes.yaml again, and open the log files again
  SIGUSR2          replace the workers one by one

Exit codes
  0  stopped by a signal
  1  did not start, or could not close everything within gateway.drain + 5 s
  2  wrong usage, or routes.yaml cannot be read`;

/** Serves until SIGINT or SIGTERM, then drains. */
async function start(options: StartOptions, io: Io): Promise<ExitCode> {
  if (isWorker) {
    keepYoungGenerationSmall();
    await runWorker();
    return 0;
  }
  // Also while it starts: process 1 of a container ignores signals that it does not handle.
  const first = stopSignal();
  let serves = false;
  void first.then(() => serves || endProcess(0));
  // Unheard, they would end the process before it serves, or in the middle of its drain.
  for (const name of ['SIGHUP', 'SIGUSR2'] as const) process.on(name, () => {});
  const file = new RoutesFile(options, io);
  const snapshot = file.read();
  if (snapshot === undefined) return 1;
  keepYoungGenerationSmall();
  const warn = (line: string): void => void io.stderr.write(`warning: ${line}\n`);
  for (const line of brokenPromises(snapshot, systemClock.now())) warn(line);
  const tooFew = tooFewOpenFiles(snapshot);
  if (tooFew) warn(tooFew);
  const keep = promiseKeeper(warn);
  const notice = (line: string): void => void io.stderr.write(`${line}\n`);
  const { serve, roll } = serveWith(snapshot.gateway.workers, notice);
  const ledger = await ThreadedLedger.open(snapshot.usage, notice);
  const edits = new ReloadOnEdits(file, io);
  let running: RunningGateway;
  try {
    running = await startGateway(snapshot, {
      load: (content) => file.load(content),
      peek: (text) => file.peek(text),
      notice,
      logs: true,
      ledger,
      onAccepted: (next) => {
        keep(next);
        edits.follow(next);
      },
      serve,
    });
  } catch (error) {
    await ledger.close();
    io.stderr.write(`${listenFailure(error, snapshot.gateway)}\n`);
    return 1;
  }
  // Not before the listeners stand: a start that fails has promised nobody anything.
  keep(snapshot);
  edits.begin(running, snapshot);
  process.on('SIGUSR2', roll);
  serves = true;
  const { listen, admin } = snapshot.gateway;
  io.stdout.write(
    banner(snapshot, { ...listen, port: running.port }, { ...admin, port: running.adminPort }, systemClock.now()),
  );
  await first;
  edits.close();
  const { drain } = snapshot.gateway;
  const close = async (): Promise<void> => {
    await running.close();
    await ledger.close();
    await file.close();
  };
  return shutDown({ drain: (ms) => running.drain(ms), close }, drain, io);
}
