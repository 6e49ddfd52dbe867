import { resolve } from 'node:path';
import { Option } from 'commander';
import { UnreadableFileError } from '../config/fault.ts';
import { decode, explain, readText } from '../config/load.ts';
import { systemClock } from '../shared/clock.ts';
import { asJson, asText } from './checkReport.ts';
import type { AddCommand } from './command.ts';
import type { ExitCode, Io } from './io.ts';
import { painter } from './paint.ts';

interface CheckOptions {
  readonly config: string;
  readonly format: 'text' | 'json';
  readonly strict: boolean;
}

export const addCheck: AddCommand = (program, io, finish) => {
  program
    .command('check')
    .description('Say everything that is wrong with a routes.yaml.')
    .option('--config <file>', 'the routes.yaml', 'routes.yaml')
    .addOption(new Option('--format <format>', 'how to print the result').choices(['text', 'json']).default('text'))
    .option('--strict', 'let warnings count as faults', false)
    .action((options: CheckOptions) => finish(check(options, io)));
};

/** @throws UnreadableFileError */
function check({ config, format, strict }: CheckOptions, io: Io): ExitCode {
  const bytes = read(config, io.cwd);
  const verdict = explain(bytes, config, { env: io.env, clock: systemClock, cwd: io.cwd });
  const report = { file: config, text: decode(bytes) ?? '', verdict, now: systemClock.now() };
  io.stdout.write(format === 'json' ? asJson(report) : asText(report, painter(io.stdout, io.env)));
  return verdict.faults.length > 0 || (strict && verdict.warnings.length > 0) ? 1 : 0;
}

// The message speaks of the file as it was named, wherever that is taken from.
function read(file: string, cwd: string): Uint8Array {
  try {
    return readText(resolve(cwd, file));
  } catch (error) {
    throw error instanceof UnreadableFileError ? new UnreadableFileError(file, error.cause) : error;
  }
}
