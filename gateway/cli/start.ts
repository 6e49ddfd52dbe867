import { once } from 'node:events';
import { resolve } from 'node:path';
import { type RunningGateway, startGateway } from '../assemble.ts';
import { ConfigError, formatFault } from '../config/fault.ts';
import { explain, readText } from '../config/load.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { Verdict } from '../config/validate.ts';
import { watchFile } from '../config/watch.ts';
import type { Trigger } from '../observability/configStatus.ts';
import { outcomeInWords } from '../reload.ts';
import { systemClock } from '../shared/clock.ts';
import { authority, banner } from './banner.ts';
import type { AddCommand } from './command.ts';
import { keepYoungGenerationSmall } from './heap.ts';
import type { ExitCode, Io } from './io.ts';

interface StartOptions {
  readonly config: string;
  readonly listen?: string;
  readonly admin?: string;
}

export const addStart: AddCommand = (program, io, finish) => {
  program
    .command('start')
    .description('Serve what routes.yaml says.')
    .option('--config <file>', 'the routes.yaml', 'routes.yaml')
    .option('--listen <host:port>', 'instead of gateway.listen of the file')
    .option('--admin <host:port>', 'instead of gateway.admin of the file')
    .action(async (options: StartOptions) => finish(await start(options, io)));
};

/** Serves until SIGINT or SIGTERM, then lets what is under way finish; a second signal ends at once. */
async function start(options: StartOptions, io: Io): Promise<ExitCode> {
  const snapshot = read(options, io);
  if (snapshot === undefined) return 1;
  keepYoungGenerationSmall();
  let running: RunningGateway;
  try {
    running = await startGateway(snapshot, {
      load: (text) => loadAgain(options, io, text),
      notice: (line) => io.stderr.write(`${line}\n`),
    });
  } catch (error) {
    io.stderr.write(`${listenFailure(error)}\n`);
    return 1;
  }
  const { listen, admin } = snapshot.gateway;
  io.stdout.write(
    banner(snapshot, { ...listen, port: running.port }, { ...admin, port: running.adminPort }, systemClock.now()),
  );
  const stopReloading = reloadOnEdits(resolve(io.cwd, options.config), running, io);
  await signal();
  stopReloading();
  io.stdout.write(`version-gateway stops: what is under way has ${snapshot.gateway.drain / 1000} s\n`);
  await Promise.race([running.drain(snapshot.gateway.drain), signal()]);
  await running.close();
  return 0;
}

/** Follows the file, and SIGHUP, until the returned function is called. */
function reloadOnEdits(file: string, running: RunningGateway, io: Io): () => void {
  const reload = async (trigger: Trigger): Promise<void> => {
    const outcome = await running.reload(trigger);
    if (outcome.kind === 'unchanged' && trigger === 'file') return;
    const output = outcome.kind === 'reloaded' || outcome.kind === 'unchanged' ? io.stdout : io.stderr;
    for (const line of outcomeInWords(outcome)) output.write(`reload (${trigger}): ${line}\n`);
  };
  const onSignal = (): void => void reload('signal');
  const watch = watchFile(file, () => void reload('file'));
  process.on('SIGHUP', onSignal);
  // An edit between the first reading and here would be taken for what was read.
  void reload('file');
  return () => {
    watch.close();
    process.off('SIGHUP', onSignal);
  };
}

/** @throws UnreadableFileError */
function read(options: StartOptions, io: Io): Snapshot | undefined {
  const { snapshot, faults, warnings } = verdictOn(options, io);
  for (const warning of warnings) io.stderr.write(`warning: ${formatFault(warning)}\n`);
  for (const fault of faults) io.stderr.write(`${formatFault(fault)}\n`);
  return snapshot;
}

/** @throws ConfigError, UnreadableFileError */
function loadAgain(options: StartOptions, io: Io, text?: string): Snapshot {
  const { snapshot, faults } = verdictOn(options, io, text);
  if (!snapshot) throw new ConfigError(faults);
  return snapshot;
}

/** Of the file, or of `text` in its place. */
function verdictOn({ config, listen, admin }: StartOptions, io: Io, text?: string): Verdict {
  return explain(text ?? readText(resolve(io.cwd, config)), config, {
    env: io.env,
    cwd: io.cwd,
    overrides: { listen, admin },
  });
}

function listenFailure(error: unknown): string {
  const { code, address = '', port = 0 } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const place = authority({ host: address, port });
  if (code === 'EADDRINUSE') return `${place} is taken by another process.  Stop it, or choose another port.`;
  if (code === 'EACCES') return `${place} may not be listened on.  Choose a port above 1023.`;
  if (code === 'EADDRNOTAVAIL') return `${address} is no address of this machine.  Choose one that is, or 0.0.0.0.`;
  throw error;
}

/** The next SIGINT or SIGTERM. */
async function signal(): Promise<void> {
  const abort = new AbortController();
  await Promise.race(['SIGINT', 'SIGTERM'].map((name) => once(process, name, { signal: abort.signal })));
  abort.abort();
}
