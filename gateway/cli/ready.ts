import { Option } from 'commander';
import { UnreadableFileError } from '../config/fault.ts';
import { reasonOf, UnansweredError } from './admin.ts';
import { addTargetOptions, type TargetOptions, targetOf } from './adminTarget.ts';
import type { AddCommand } from './command.ts';
import type { ExitCode, Io } from './io.ts';
import { type Patience, patience } from './patience.ts';

interface ReadyOptions extends TargetOptions {
  readonly timeout: Patience;
}

export const addReady: AddCommand = (program, io, finish) => {
  addTargetOptions(program.command('ready'))
    .description('Say whether a running gateway takes traffic: the health check of a container.')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for the answer')
        .argParser(patience)
        .default(patience('2s'), '2s'),
    )
    .action(async (options: ReadyOptions) => finish(await ready(options, io)));
};

/** A gateway that does not answer is not ready either: 1, for Docker keeps 2 for itself in a health check. */
async function ready({ timeout, ...options }: ReadyOptions, io: Io): Promise<ExitCode> {
  const not = (reason: string): ExitCode => {
    io.stderr.write(`not ready: ${reason}\n`);
    return 1;
  };
  let admin = '';
  try {
    const { origin, name } = targetOf(options, io);
    admin = name;
    const { status, body } = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(timeout.ms) });
    await body?.cancel();
    if (status === 503) return not('it is starting or draining');
    if (status !== 200) return not(`${admin}/readyz answers ${status}`);
    io.stdout.write('ready\n');
    return 0;
  } catch (error) {
    if (error instanceof UnansweredError || error instanceof UnreadableFileError) return not(error.message);
    return not(`${admin} does not answer (${reasonOf(error, timeout.ms)})`);
  }
}
