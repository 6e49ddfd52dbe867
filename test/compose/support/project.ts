import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// What the images are built from, and what the containers run with.
const parts = [
  '.dockerignore',
  'LICENSE',
  'bin',
  'config',
  'deploy',
  'docker-compose.fleet.yml',
  'docker-compose.scale.yml',
  'docker-compose.yml',
  'examples/adapter.yaml',
  'gateway',
  'package-lock.json',
  'package.json',
  'routes.yaml',
  'services',
  'tools/build.ts',
  'tools/bundle.ts',
  'tsconfig.build.json',
  'tsconfig.json',
];

/** The first command of the documentation. It creates .env. */
export const firstCommand = /^```sh\n(.+)$/m.exec(readFileSync('docs/containers.md', 'utf8'))?.[1] ?? '';

/** Copies the files of this project to a temporary folder, where the tests may edit them. */
export function copyProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'compose-'));
  for (const part of parts) {
    if (!existsSync(part)) throw new Error(`${part} is missing`);
    cpSync(part, join(folder, part), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !source.includes('node_modules'),
    });
  }
  mkdirSync(join(folder, '.git'));
  writeFileSync(join(folder, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  return folder;
}
