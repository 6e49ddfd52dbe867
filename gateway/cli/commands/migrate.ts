import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { guideAsMarkdown } from '../../compat/guide/markdown.ts';
import { reasonOf } from '../../config/fault.ts';
import { guidePage } from '../../discovery/guidePage.ts';
import { loadGuide } from '../../discovery/guideThread.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import { configOption, formatOption, versionArgument } from '../options.ts';
import { versionPair } from './versionPair.ts';

interface MigrateOptions {
  readonly config: string;
  readonly format: 'markdown' | 'html';
  readonly output?: string;
}

export const addMigrate: AddCommand = (program, io, finish) => {
  program
    .command('migrate')
    .description('Generate a migration guide for clients, from the contracts of two versions.')
    .argument('<old>', 'version to migrate from, such as /v1', versionArgument)
    .argument('<new>', 'version to migrate to, such as /v2', versionArgument)
    .addOption(configOption(io.cwd))
    .addOption(formatOption(['markdown', 'html']))
    .option('--output <file>', 'file to write (default: standard output)')
    .action(async (old: string, now: string, options: MigrateOptions) => finish(await migrate(old, now, options, io)));
};

/** @throws UnreadableFileError, CompareError, UsageError */
async function migrate(
  old: string,
  now: string,
  { config, format, output }: MigrateOptions,
  io: Io,
): Promise<ExitCode> {
  const { request } = versionPair(old, now, config, io);
  const guide = await loadGuide(request, io.cwd);
  const text = format === 'html' ? guidePage(guide) : guideAsMarkdown(guide);
  if (output === undefined) io.stdout.write(text);
  else write(output, text, io);
  return 0;
}

function write(output: string, text: string, { cwd, stderr }: Io): void {
  try {
    writeFileSync(resolve(cwd, output), text);
  } catch (error) {
    throw new UsageError(`${output} cannot be written: ${reasonOf(error)}`);
  }
  stderr.write(`Wrote ${output}.\n`);
}
