import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { formatFault } from '../config/fault.ts';
import { parseConfig, readRoutes } from '../config/load.ts';
import type { Snapshot } from '../config/snapshot.ts';
import { type Io, UsageError } from './io.ts';

// The second one is in a folder of its own, which can be mounted into a container without the rest of the project.
const places = ['routes.yaml', 'config/routes.yaml'] as const;

/** The routes.yaml that is used when none is named; undefined when neither place has one. */
export function defaultConfig(cwd: string): string | undefined {
  return places.find((place) => mayExist(resolve(cwd, place)));
}

/** Also true where `stat` is not permitted, as in a folder of another user: reading the file reports why. */
function mayExist(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
  }
}

/** `--config`. Where no file exists, the default is the first place, so that the error names it. */
export function configOption(cwd: string): Option {
  return new Option('--config <file>', 'path of routes.yaml').default(
    defaultConfig(cwd) ?? places[0],
    places.join(', else '),
  );
}

/** A valid routes.yaml. @throws UsageError with its faults, UnreadableFileError */
export function snapshotOf(file: string, { cwd, env }: Pick<Io, 'cwd' | 'env'>): Snapshot {
  const { snapshot, faults } = parseConfig(readRoutes(file, cwd), file, { env, cwd });
  if (snapshot) return snapshot;
  throw new UsageError(
    [...faults.map(formatFault), `${file} has faults and cannot be used: see version-gateway check.`].join('\n'),
  );
}
