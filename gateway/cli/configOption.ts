import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';

// A folder of its own can be mounted into a container without the rest of the project.
const places = ['routes.yaml', 'config/routes.yaml'] as const;

/** The routes.yaml that is meant where nobody names one; undefined where there is none. */
export function usualConfig(cwd: string): string | undefined {
  return places.find((place) => existsSync(resolve(cwd, place)));
}

/** `--config`: without it the first file that there is, and the first name where there is none. */
export function configOption(cwd: string): Option {
  return new Option('--config <file>', 'the routes.yaml').default(
    usualConfig(cwd) ?? places[0],
    places.join(', else '),
  );
}
