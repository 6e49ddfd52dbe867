import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { decode, parseConfig, readRoutes } from '../config/load.ts';
import { replacedLink } from '../config/location.ts';
import { systemClock } from '../shared/clock.ts';
import { addAdminOption, targetOf } from './adminTarget.ts';
import { askRunning, isRejected, previewInWords } from './againstRunning.ts';
import { besideAsText, checkBeside } from './checkCompose.ts';
import { asJson, asText } from './checkReport.ts';
import type { AddCommand } from './command.ts';
import { configOption } from './configOption.ts';
import type { ExitCode, Io } from './io.ts';
import { painter } from './paint.ts';

interface CheckOptions {
  readonly config: string;
  readonly format: 'text' | 'json';
  readonly strict: boolean;
  readonly upstreams: boolean;
  readonly againstRunning: boolean;
  readonly admin?: string;
  readonly compose: readonly string[];
  readonly composeService?: string;
}

export const addCheck: AddCommand = (program, io, finish) => {
  addAdminOption(program.command('check'))
    .description('Report every fault of a routes.yaml.')
    .argument('[file]', 'the routes.yaml; the same as --config')
    .addOption(configOption(io.cwd))
    .addOption(new Option('--format <format>', 'how to print the result').choices(['text', 'json']).default('text'))
    .option('--strict', 'treat warnings as faults', false)
    .option('--no-upstreams', 'allow versions without an upstream, as for versionLifecycle in an app of your own')
    .option('--against-running', 'also ask the running gateway what a reload with the file would do', false)
    .addOption(
      new Option(
        '--compose <file>',
        'compare with a Compose file; may be given again, later files override earlier ones',
      )
        .default([], 'none')
        .argParser((file: string, files: readonly string[]) => [...files, file]),
    )
    .option(
      '--compose-service <name>',
      'the service of the gateway in the Compose file (default: recognised by its image, command or volumes)',
    )
    .action(async (file: string | undefined, given: CheckOptions, command: Command) => {
      if (file !== undefined && command.getOptionValueSource('config') === 'cli')
        program.error(`error: ${file} and --config ${given.config} name two files; give one`);
      const options = file === undefined ? given : { ...given, config: file };
      if (options.composeService !== undefined && options.compose.length === 0)
        program.error('error: --compose-service names a service of the file that --compose gives');
      finish(await check(options, io));
    });
};

/** @throws UnreadableFileError, UnansweredError */
async function check(options: CheckOptions, io: Io): Promise<ExitCode> {
  const { config, format, strict, againstRunning } = options;
  const bytes = readRoutes(config, io.cwd);
  const text = decode(bytes) ?? '';
  const now = systemClock.now();
  const beside = options.compose.length > 0 ? await checkBeside(options, bytes, io, now) : undefined;
  const found =
    beside?.verdict ??
    parseConfig(bytes, config, { env: io.env, clock: systemClock, cwd: io.cwd, forwards: options.upstreams });
  const replaced = replacedLink(config, resolve(io.cwd, config));
  const verdict = replaced ? { ...found, warnings: [replaced, ...found.warnings] } : found;
  const report = { file: config, text, verdict, now };
  const paint = painter(io.stdout, io.env);
  if (format === 'text') io.stdout.write(beside ? besideAsText(report, beside, paint) : asText(report, paint));
  // What is wrong in itself need not be asked about.
  const running =
    againstRunning && verdict.snapshot && verdict.faults.length === 0
      ? await askRunning(targetOf(options, io), text)
      : undefined;
  if (format === 'json') io.stdout.write(asJson(report, running, beside?.facts));
  else if (running) io.stdout.write(`\n${previewInWords(running, paint).join('\n')}\n`);
  const isFaulty = verdict.faults.length > 0 || (strict && verdict.warnings.length > 0);
  return isFaulty || (running !== undefined && isRejected(running)) ? 1 : 0;
}
