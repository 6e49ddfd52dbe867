import { Command, CommanderError } from 'commander';
import { UnreadableFileError } from '../config/fault.ts';
import { UnansweredError } from './admin.ts';
import { commandsFor } from './commands.ts';
import type { ExitCode, Io } from './io.ts';
import { packageVersion } from './packageVersion.ts';

/** Runs one command line, without the name of the program. */
export async function run(args: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = 0;
  const program = new Command('version-gateway')
    .description('Every major version of an HTTP API side by side, behind one host.')
    .version(packageVersion(), '-v, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError('Run the command with --help to see its options.');
  for (const add of await commandsFor(args)) {
    add(program, io, (result) => {
      code = result;
    });
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // Commander's own way out: help and version are 0, a wrong command line is something else.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof UnreadableFileError || error instanceof UnansweredError)) throw error;
    io.stderr.write(`${error.message}\n`);
    return 2;
  }
}
