import { Command, CommanderError } from 'commander';
import { UnreadableFileError } from '../../config/fault.ts';
import { CompareError } from '../../contract/failure.ts';
import { packageVersion } from '../../shared/packageFiles.ts';
import { AdminError } from './adminClient.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from './io.ts';

/** In the order of `--help`. Only the modules of the requested command are loaded: comparing two files needs no gateway. */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  start: async () => (await import('./commands/start.ts')).addStart,
  check: async () => (await import('./commands/check.ts')).addCheck,
  compat: async () => (await import('./commands/compat.ts')).addCompat,
  migrate: async () => (await import('./commands/migrate.ts')).addMigrate,
  moved: async () => (await import('./commands/migrate.ts')).addMoved,
  adapter: async () => (await import('./commands/adapter.ts')).addAdapter,
  ready: async () => (await import('./commands/ready.ts')).addReady,
  status: async () => (await import('./commands/status.ts')).addStatus,
  usage: async () => (await import('./commands/usage.ts')).addUsage,
  tag: async () => (await import('./commands/tag.ts')).addTag,
  fleet: async () => (await import('./commands/fleet.ts')).addFleet,
  plan: async () => (await import('./commands/plan.ts')).addPlan,
  digest: async () => (await import('./commands/digest.ts')).addDigest,
  notify: async () => (await import('./commands/digest.ts')).addNotify,
  brownout: async () => (await import('./commands/brownout.ts')).addBrownout,
  shadow: async () => (await import('./commands/shadow.ts')).addShadow,
  replay: async () => (await import('./commands/replay.ts')).addReplay,
  drift: async () => (await import('./commands/shadow.ts')).addDrift,
  'can-retire': async () => (await import('./commands/canRetire.ts')).addCanRetire,
};

/** Runs one command line, given without the name of the program. */
export async function run(args: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = 0;
  const program = new Command('version-gateway')
    .description('Run every major version of an HTTP API side by side, behind one host.')
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
    // Commander throws for --help and --version too, with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!isExplained(error)) throw error;
    io.stderr.write(`${error.message}\n`);
    return 2;
  }
}

/** The requested command. If none is requested, all commands, so that the help lists them. */
function commandsFor([name = '']: readonly string[]): Promise<AddCommand[]> {
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  return Promise.all(load ? [load()] : Object.values(commands).map((one) => one()));
}

/** Errors whose message tells the user what to do; anything else is a defect. */
function isExplained(error: unknown): error is Error {
  return [UsageError, UnreadableFileError, AdminError, CompareError].some((type) => error instanceof type);
}
