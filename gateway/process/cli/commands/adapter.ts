import { resolve } from 'node:path';
import { baseOf, rootBase, segmentOf } from '../../../config/api.ts';
import { decodeIfUtf8, readRoutes } from '../../../config/location.ts';
import { CompareError } from '../../../contract/failure.ts';
import { plural, printable } from '../../../shared/text.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import { configOption, versionArgument } from '../options.ts';
import { versionPair, writeOutput } from './migrate.ts';

interface AdapterOptions {
  readonly config: string;
  readonly output?: string;
}

export const addAdapter: AddCommand = (program, io, finish) => {
  program
    .command('adapter')
    .description('Draft the section `adapter` that serves one version from the backend of a later one.')
    .argument('<old>', 'version to serve, such as /v1', versionArgument)
    .argument('<new>', 'version whose backend answers, such as /v2', versionArgument)
    .addOption(configOption(io.cwd))
    .option('--output <file>', 'file to write (default: standard output)')
    .action(async (older: string, newer: string, options: AdapterOptions) =>
      finish(await adapter(older, newer, options, io)),
    );
};

/** @throws UnreadableFileError, CompareError, UsageError */
async function adapter(older: string, newer: string, { config, output }: AdapterOptions, io: Io): Promise<ExitCode> {
  // A draft needs the same data as a migration guide: both contracts and the moved routes.
  const { from, to, guideRequest } = versionPair(older, newer, config, io);
  const { from: oldContract, to: newContract, moved: movedTables } = guideRequest;
  if (baseOf(from.name) !== baseOf(to.name))
    throw new UsageError(
      `/${from.name} and /${to.name} belong to different APIs. An adapter serves versions of one API.`,
    );
  if (to.retired) throw new CompareError(`/${to.name}`, 'is retired, so it has no backend', 'Name another version.');
  if (to.adapter)
    throw new CompareError(
      `/${to.name}`,
      'has an adapter itself',
      'Name the version whose backend answers its requests.',
    );
  const { draftAdapter } = await import('../../../contracts/adapters/draft/draft.ts');
  const withAbsolutePath = ({ name, file }: typeof oldContract) => ({ name, file: resolve(io.cwd, file) });
  const { lines, adapted, gone, faulty } = await draftAdapter(
    withAbsolutePath(oldContract),
    withAbsolutePath(newContract),
    movedTables,
  );
  const indentation = indentationIn(decodeIfUtf8(readRoutes(config, io.cwd)) ?? '', from.name);
  const section = [`# Paste this below /${from.name}: in ${printable(config)}.`, ...lines];
  const text = section.map((line) => `${indentation}${line}\n`).join('');
  if (output === undefined) io.stdout.write(text);
  else writeOutput(output, text, io);
  const counts = [`${adapted} adapted`, `${gone} gone`, `${faulty} with open faults`];
  io.stderr.write(`${plural(adapted + gone + faulty, 'route')}: ${counts.join(', ')}\n`);
  return faulty > 0 ? 1 : 0;
}

/** The spaces before the keys of a version in a routes.yaml. */
function indentationIn(text: string, version: string): string {
  const fromItsApi = text.slice(Math.max(0, text.indexOf(`${baseOf(version)}:`)));
  // The line of the version, comment lines, and the spaces before the first key.
  const firstKey = new RegExp(`^ *["']?/${segmentOf(version)}["']?:[^\\S\\n]*(?:#.*)?\\n(?:\\s*#.*\\n)*( +)\\S`, 'm');
  return firstKey.exec(baseOf(version) === rootBase ? text : fromItsApi)?.[1] ?? '    ';
}
