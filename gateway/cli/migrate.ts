import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { guideAsMarkdown } from '../compat/guide/markdown.ts';
import { reasonOf } from '../config/fault.ts';
import { guidePage } from '../discovery/guidePage.ts';
import { loadGuide } from '../discovery/guideThread.ts';
import type { AddCommand } from './command.ts';
import { configOption } from './configOption.ts';
import { orExplain, twoVersions } from './guideVersions.ts';
import type { ExitCode, Io } from './io.ts';
import { UsageError } from './usageError.ts';
import { versionArgument } from './versionArgument.ts';

interface MigrateOptions {
  readonly config: string;
  readonly format: 'markdown' | 'html';
  readonly output?: string;
}

export const addMigrate: AddCommand = (program, io, finish) => {
  program
    .command('migrate')
    .description('Write the guide for clients that move from one version to another, from the two contracts.')
    .argument('<old>', 'the version to leave, such as /v1', versionArgument)
    .argument('<new>', 'the version to move to, such as /v2', versionArgument)
    .addOption(configOption(io.cwd))
    .addOption(new Option('--format <format>', 'how to write it').choices(['markdown', 'html']).default('markdown'))
    .option('--output <file>', 'where to write it (default: standard output)')
    .action(async (old: string, now: string, options: MigrateOptions) =>
      finish(await orExplain(io, () => migrate(old, now, options, io))),
    );
};

/** @throws UnreadableFileError, CompareError, UsageError */
async function migrate(
  old: string,
  now: string,
  { config, format, output }: MigrateOptions,
  io: Io,
): Promise<ExitCode> {
  const { request } = twoVersions(old, now, config, io);
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
  stderr.write(`${output} is written.\n`);
}
