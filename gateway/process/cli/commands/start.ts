import { availableParallelism } from 'node:os';
import { readAccepted, writeAccepted } from '../../../config/acceptedConfig.ts';
import { realPathOf } from '../../../config/location.ts';
import type { Snapshot } from '../../../config/snapshot.ts';
import type { Fleet } from '../../../operate/fleet/fleet.ts';
import { systemClock } from '../../../shared/clock.ts';
import { endProcess } from '../../../shared/endProcess.ts';
import { printable } from '../../../shared/text.ts';
import { claimLedger, claimWhenFree } from '../../../usage/ledger/file.ts';
import { ThreadedLedger } from '../../../usage/ledger/threadedLedger.ts';
import { guardReload } from '../../../versions/lifecycle/reloadGuard.ts';
import { type RunningGateway, startGateway } from '../../runtime/gateway.ts';
import { serveInProcess } from '../../runtime/inProcess.ts';
import { ledgerSettingsOf } from '../../runtime/ledgerMaintenance.ts';
import { tooFewOpenFiles } from '../../runtime/openFiles.ts';
import { ReloadOnEdits, RoutesFile, type StartOptions } from '../../runtime/routesFile.ts';
import type { Serve } from '../../runtime/serving.ts';
import { isWorker, runWorker } from '../../runtime/worker.ts';
import { WorkerPool } from '../../runtime/workerPool.ts';
import type { AddCommand, ExitCode, Io } from '../io.ts';
import { configOption, listenArgument } from '../options.ts';
import { banner, listenFailure } from '../start/messages.ts';
import { keepYoungGenerationSmall, shutDown, stopSignal } from '../start/process.ts';

/** How long the last counts may take to reach the shared store of a fleet. */
const fleetStopMs = 2000;

export const addStart: AddCommand = (program, io, finish) => {
  program
    .command('start')
    .description('Start the gateway.')
    .addOption(configOption(io.cwd))
    .option('--listen <host:port>', 'overrides gateway.listen', listenArgument)
    .option('--admin <host:port>', 'overrides gateway.admin', listenArgument)
    .addHelpText('after', signalsAndExitCodes)
    .action(async (options: StartOptions) => finish(await start(options, io)));
};

const signalsAndExitCodes = `
Signals
  SIGTERM, SIGINT  stop; requests in flight may finish within gateway.drain, a second signal aborts them
  SIGHUP           reload routes.yaml and reopen the log files
  SIGUSR2          restart the workers one by one

Exit codes
  0  stopped by a signal
  1  the gateway did not start, or did not stop within gateway.drain + 5 s
  2  invalid command line, or routes.yaml cannot be read`;

/** Serves until SIGINT or SIGTERM, then drains. @throws UnreadableFileError */
async function start(options: StartOptions, io: Io): Promise<ExitCode> {
  if (isWorker) {
    keepYoungGenerationSmall();
    await runWorker();
    return 0;
  }
  // Handled from the beginning: process 1 of a container ignores signals without a handler.
  const stopRequested = stopSignal();
  let isServing = false;
  void stopRequested.then(() => isServing || endProcess(0));
  // Without a handler, these signals would end the process while it starts or drains.
  for (const name of ['SIGHUP', 'SIGUSR2'] as const) process.on(name, () => {});
  const file = new RoutesFile(options, io);
  const snapshot = await file.read();
  if (snapshot === undefined) return 1;
  keepYoungGenerationSmall();
  const warn = (line: string): void => void io.stderr.write(`warning: ${line}\n`);
  for (const line of acceptedConfigWarnings(snapshot, systemClock.now())) warn(line);
  const openFilesWarning = tooFewOpenFiles(snapshot);
  if (openFilesWarning) warn(openFilesWarning);
  const { store } = snapshot.usage;
  const firstClaim = claimLedger(store);
  if (!firstClaim) warn(sharedLedgerWarning(store));
  const claim = firstClaim ?? claimWhenFree(store);
  const saveAccepted = acceptedConfigWriter(warn);
  // A line may quote a file, a backend or another server, so control characters are escaped.
  const notice = (line: string): void => void io.stderr.write(`${printable(line)}\n`);
  const { serve, restartWorkers } = workersFor(snapshot.gateway.workers, notice);
  const ledger = await ThreadedLedger.open(ledgerSettingsOf(snapshot), notice, { isShared: firstClaim === undefined });
  const edits = new ReloadOnEdits(file, io);
  let current = snapshot;
  let fleet: Fleet | undefined;
  let running: RunningGateway;
  try {
    fleet = await joinFleet(snapshot, ledger, notice);
    running = await startGateway(snapshot, {
      load: (content) => file.load(content),
      loadPreview: (text) => file.loadPreview(text),
      notice,
      logs: true,
      ledger,
      onAccepted: (next) => {
        current = next;
        saveAccepted(next);
        edits.watchFilesOf(next);
      },
      serve,
      fleet,
      file: () => ({ path: realPathOf(file.path), digest: file.lastReadDigest ?? '' }),
    });
  } catch (error) {
    await fleet?.stop(0);
    await ledger.close();
    claim.release();
    io.stderr.write(`${listenFailure(error, snapshot.gateway)}\n`);
    return 1;
  }
  // Saved only when the listeners are open: a start that fails has announced nothing to clients. If the fleet refuses the
  // configuration, `onAccepted` saves it once the fleet accepts it.
  if (fleet?.member.refusal === undefined) saveAccepted(snapshot);
  edits.begin(running, snapshot);
  process.on('SIGUSR2', restartWorkers);
  isServing = true;
  const { listen, admin } = snapshot.gateway;
  io.stdout.write(
    banner(snapshot, { ...listen, port: running.port }, { ...admin, port: running.adminPort }, systemClock.now()),
  );
  await stopRequested;
  edits.close();
  const { drain } = current.gateway;
  const close = async (): Promise<void> => {
    await running.close();
    await fleet?.stop(fleetStopMs);
    await ledger.close();
    await file.close();
    claim.release();
  };
  return shutDown({ drain: (ms) => running.drain(ms), close }, drain, io);
}

/** A gateway assumes that no other gateway writes its ledger. */
function sharedLedgerWarning(store: string): string {
  const remedy = 'Give each gateway its own usage.store.  If the other one is being stopped, ignore this.';
  return `Another gateway already writes ${printable(store)}: the counts of both may become wrong.  ${remedy}`;
}

/** Loads the fleet only if it is configured. An unreachable store is not an error. @throws StoreError */
async function joinFleet(
  { fleet }: Snapshot,
  ledger: ThreadedLedger,
  notice: (line: string) => void,
): Promise<Fleet | undefined> {
  return fleet && (await import('../../../operate/fleet/fleet.ts')).Fleet.start(fleet, { ledger, notice });
}

/** With one worker, this process serves the clients. With more, worker processes serve them. */
function workersFor(
  workers: number | 'auto',
  notice: (line: string) => void,
): { readonly serve: Serve; restartWorkers(): void } {
  const size = workers === 'auto' ? availableParallelism() : workers;
  if (size === 1) {
    const why = 'there is only one worker; set gateway.workers to 2 or more for rolling restarts';
    return { serve: serveInProcess, restartWorkers: () => notice(`SIGUSR2 is ignored: ${why}`) };
  }
  let pool: WorkerPool | undefined;
  return {
    serve: async (snapshot, options) => {
      pool = new WorkerPool(snapshot, options);
      await pool.start(size);
      return pool;
    },
    restartWorkers: () => void pool?.rollingRestart(),
  };
}

/** A warning for each way in which this configuration breaks what the last accepted configuration announced to clients. */
function acceptedConfigWarnings(snapshot: Snapshot, now: number): string[] {
  const { config, warning } = readAccepted(snapshot.usage.store);
  if (config === undefined) return warning === undefined ? [] : [warning];
  // Times of the last requests are known only while a gateway runs.
  return guardReload(config, snapshot, { calls: () => undefined }, now).map(({ message }) => message);
}

/** Saves every accepted configuration for the next start. Warns of a failure, but only once of the same failure. */
function acceptedConfigWriter(warn: (line: string) => void): (snapshot: Snapshot) => void {
  let lastFailure: string | undefined;
  return (snapshot) => {
    const failure = writeAccepted(snapshot);
    if (failure !== undefined && failure !== lastFailure) warn(failure);
    lastFailure = failure;
  };
}
