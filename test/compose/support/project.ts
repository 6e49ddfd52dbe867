import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// As an operator has it, with what must not get into a container.
const parts = [
  ...[
    'docker-compose.yml',
    'docker-compose.scale.yml',
    '.dockerignore',
    'package.json',
    'package-lock.json',
    'LICENSE',
  ],
  ...['tsconfig.json', 'tsconfig.build.json', 'bin', 'config', 'gateway', 'routes.yaml', 'services'],
];

/** The first command of the documentation: it makes .env. */
export const firstCommand = /^```sh\n(.+)$/m.exec(readFileSync('docs/containers.md', 'utf8'))?.[1] ?? '';

/** A copy of this project in which the tests may edit; gone with the run. */
export function copyProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'compose-'));
  for (const part of parts) {
    if (!existsSync(part)) throw new Error(`${part} is missing`);
    const verbatimSymlinks = true;
    cpSync(part, join(folder, part), {
      recursive: true,
      verbatimSymlinks,
      filter: (source) => !source.includes('node_modules'),
    });
  }
  mkdirSync(join(folder, '.git'));
  writeFileSync(join(folder, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  return folder;
}
