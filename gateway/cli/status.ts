import { resolve } from 'node:path';
import { Option } from 'commander';
import { formatFault } from '../config/fault.ts';
import { replacedLink } from '../config/location.ts';
import { systemClock } from '../shared/clock.ts';
import { adminAt } from './admin.ts';
import { addTargetOptions, type TargetOptions, targetOf } from './adminTarget.ts';
import type { AddCommand } from './command.ts';
import { usualConfig } from './configOption.ts';
import type { ExitCode, Io } from './io.ts';
import { painter } from './paint.ts';
import { type Patience, patience } from './patience.ts';
import { readStatus } from './runningStatus.ts';
import { statusAsText } from './statusReport.ts';
import { widthOf } from './table.ts';
import { waitUntilSafe } from './wait.ts';

interface StatusOptions extends TargetOptions {
  readonly format: 'text' | 'json';
  /** The segment: `v1`. */
  readonly wait?: string;
  readonly timeout: Patience;
}

export const addStatus: AddCommand = (program, io, finish) => {
  addTargetOptions(program.command('status'))
    .description('Say what a running gateway serves, and what of it is under way.')
    .addOption(new Option('--format <format>', 'how to print the result').choices(['text', 'json']).default('text'))
    .option('--wait <version>', 'wait until nothing of a retired version is under way', (text) =>
      text.replace(/^\//, ''),
    )
    .addOption(
      new Option('--timeout <duration>', 'how long to wait').argParser(patience).default(patience('60s'), '60s'),
    )
    .action(async (options: StatusOptions) => finish(await status(options, io)));
};

/** @throws UnansweredError */
async function status(options: StatusOptions, io: Io): Promise<ExitCode> {
  const { format, wait, timeout } = options;
  const file = options.config ?? usualConfig(io.cwd) ?? 'routes.yaml';
  const replaced = replacedLink(file, resolve(io.cwd, file));
  if (replaced) io.stderr.write(`warning: ${formatFault(replaced)}\n`);
  const target = targetOf(options, io);
  const admin = adminAt(target);
  const read = (ms?: number) => readStatus(admin, target.name, ms);
  if (wait !== undefined) return waitUntilSafe(wait, timeout, read, format, io);
  const found = await read();
  const text =
    format === 'json'
      ? `${JSON.stringify(found, null, 2)}\n`
      : statusAsText(found, systemClock.now(), painter(io.stdout, io.env), widthOf(io.stdout));
  io.stdout.write(text);
  return 0;
}
