import { type RunningGateway, startGateway } from '../assemble.ts';
import { isWorker, work } from '../cluster/worker.ts';
import { systemClock } from '../shared/clock.ts';
import { Ledger } from '../usage/ledger.ts';
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
import { stopSignal } from './stopSignal.ts';

export const addStart: AddCommand = (program, io, finish) => {
  program
    .command('start')
    .description('Start the gateway.')
    .addOption(configOption(io.cwd))
    .option('--listen <host:port>', 'overrides gateway.listen', checkAddress)
    .option('--admin <host:port>', 'overrides gateway.admin', checkAddress)
    .action(async (options: StartOptions) => finish(await start(options, io)));
};

/** Serves until SIGINT or SIGTERM, then lets what is under way finish; a second signal ends at once. */
async function start(options: StartOptions, io: Io): Promise<ExitCode> {
  if (isWorker) {
    keepYoungGenerationSmall();
    await work();
    return 0;
  }
  // Unheard, they would end the process before it serves, or in the middle of its drain.
  for (const name of ['SIGHUP', 'SIGUSR2'] as const) process.on(name, () => {});
  const file = new RoutesFile(options, io);
  const snapshot = file.read();
  if (snapshot === undefined) return 1;
  keepYoungGenerationSmall();
  const warn = (line: string): void => void io.stderr.write(`warning: ${line}\n`);
  for (const line of brokenPromises(snapshot, systemClock.now())) warn(line);
  const keep = promiseKeeper(warn);
  const notice = (line: string): void => void io.stderr.write(`${line}\n`);
  const { serve, roll } = serveWith(snapshot.gateway.workers, notice);
  const ledger = Ledger.open(snapshot.usage, { clock: systemClock, onNotice: notice });
  const edits = new ReloadOnEdits(file, io);
  let running: RunningGateway;
  try {
    running = await startGateway(snapshot, {
      load: () => file.load(),
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
    ledger.close();
    io.stderr.write(`${listenFailure(error, snapshot.gateway)}\n`);
    return 1;
  }
  // Not before the listeners stand: a start that fails has promised nobody anything.
  keep(snapshot);
  edits.begin(running, snapshot);
  process.on('SIGUSR2', roll);
  const first = stopSignal();
  const { listen, admin } = snapshot.gateway;
  io.stdout.write(
    banner(snapshot, { ...listen, port: running.port }, { ...admin, port: running.adminPort }, systemClock.now()),
  );
  await first;
  edits.close();
  const second = stopSignal();
  io.stdout.write(`version-gateway stops: what is under way has ${snapshot.gateway.drain / 1000} s\n`);
  await Promise.race([running.drain(snapshot.gateway.drain), second]);
  await running.close();
  ledger.close();
  return 0;
}
