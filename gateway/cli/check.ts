import { resolve } from 'node:path';
import { Option } from 'commander';
import { UnreadableFileError } from '../config/fault.ts';
import { decode, explain, readText } from '../config/load.ts';
import { systemClock } from '../shared/clock.ts';
import { addAdminOption, targetOf } from './adminTarget.ts';
import { askRunning, isRejected, previewInWords } from './againstRunning.ts';
import { asJson, asText } from './checkReport.ts';
import type { AddCommand } from './command.ts';
import type { ExitCode, Io } from './io.ts';
import { painter } from './paint.ts';

interface CheckOptions {
  readonly config: string;
  readonly format: 'text' | 'json';
  readonly strict: boolean;
  readonly againstRunning: boolean;
  readonly admin?: string;
}

export const addCheck: AddCommand = (program, io, finish) => {
  addAdminOption(program.command('check'))
    .description('Say everything that is wrong with a routes.yaml.')
    .option('--config <file>', 'the routes.yaml', 'routes.yaml')
    .addOption(new Option('--format <format>', 'how to print the result').choices(['text', 'json']).default('text'))
    .option('--strict', 'let warnings count as faults', false)
    .option('--against-running', 'ask the running gateway, too, what it would make of the file', false)
    .action(async (options: CheckOptions) => finish(await check(options, io)));
};

/** @throws UnreadableFileError, UnansweredError */
async function check(options: CheckOptions, io: Io): Promise<ExitCode> {
  const { config, format, strict, againstRunning } = options;
  const bytes = read(config, io.cwd);
  const text = decode(bytes) ?? '';
  const verdict = explain(bytes, config, { env: io.env, clock: systemClock, cwd: io.cwd });
  const report = { file: config, text, verdict, now: systemClock.now() };
  const paint = painter(io.stdout, io.env);
  if (format === 'text') io.stdout.write(asText(report, paint));
  // What is wrong in itself need not be asked about.
  const running = againstRunning && verdict.snapshot ? await askRunning(targetOf(options, io), text) : undefined;
  if (format === 'json') io.stdout.write(asJson(report, running));
  else if (running) io.stdout.write(`\n${previewInWords(running, paint).join('\n')}\n`);
  const isFaulty = verdict.faults.length > 0 || (strict && verdict.warnings.length > 0);
  return isFaulty || (running !== undefined && isRejected(running)) ? 1 : 0;
}

// The message speaks of the file as it was named, wherever that is taken from.
function read(file: string, cwd: string): Uint8Array {
  try {
    return readText(resolve(cwd, file));
  } catch (error) {
    throw error instanceof UnreadableFileError ? new UnreadableFileError(file, error.cause) : error;
  }
}
