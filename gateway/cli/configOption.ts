import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';

// A folder of its own can be mounted into a container without the rest of the project.
const places = ['routes.yaml', 'config/routes.yaml'] as const;

/** The routes.yaml that is meant where nobody names one; undefined where there surely is none. */
export function usualConfig(cwd: string): string | undefined {
  return places.find((place) => mayBe(resolve(cwd, place)));
}

/** A file that may not be looked at, as in a folder of somebody else, is meant all the same: reading it says why. */
function mayBe(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
  }
}

/** `--config`: without it the first file that there is, and the first name where there is none. */
export function configOption(cwd: string): Option {
  return new Option('--config <file>', 'the routes.yaml').default(
    usualConfig(cwd) ?? places[0],
    places.join(', else '),
  );
}
