import { Option } from 'commander';
import { openContract } from '../compat/document/open.ts';
import { proposeMoved } from '../compat/moved.ts';
import type { AddCommand } from './command.ts';
import { configOption } from './configOption.ts';
import { orExplain, twoVersions } from './guideVersions.ts';
import type { ExitCode, Io } from './io.ts';
import { movedYaml } from './movedYaml.ts';
import { printedJson } from './printedJson.ts';
import { versionArgument } from './versionArgument.ts';

interface MovedOptions {
  readonly config: string;
  readonly format: 'yaml' | 'json';
}

export const addMoved: AddCommand = (program, io, finish) => {
  program
    .command('moved')
    .description('Propose rows for `moved`: which routes of a version another one has under another path.')
    .argument('<old>', 'the older version, such as /v1', versionArgument)
    .argument('<new>', 'the newer version, such as /v2', versionArgument)
    .addOption(configOption(io.cwd))
    .addOption(new Option('--format <format>', 'how to print them').choices(['yaml', 'json']).default('yaml'))
    .action(async (old: string, now: string, options: MovedOptions) =>
      finish(await orExplain(io, () => moved(old, now, options, io))),
    );
};

/** @throws UnreadableFileError, CompareError, UsageError */
async function moved(old: string, now: string, { config, format }: MovedOptions, io: Io): Promise<ExitCode> {
  const { from, to, request } = twoVersions(old, now, config, io);
  const options = { cwd: io.cwd, stdin: () => '', allowRemote: false };
  const [before, after] = [
    await openContract(request.from.file, options),
    await openContract(request.to.file, options),
  ];
  const isListed = (path: string): boolean => from.moved.find(path) !== undefined;
  const found = proposeMoved({ old: before, now: after, from: from.name, to: to.name, isListed });
  if (format === 'json') io.stdout.write(printedJson({ from: from.name, to: to.name, ...found }));
  else io.stdout.write(movedYaml(from.name, to.name, found));
  return 0;
}
