import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { run } from '../../gateway/cli/run.ts';
import { explain } from '../../gateway/config/load.ts';
import { readmeBlock } from '../support/readme.ts';

const readme = readFileSync('README.md', 'utf8');
const scripts = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }).scripts;

it('shows a routes.yaml that is valid as it stands', () => {
  const { faults, warnings } = explain(readmeBlock('yaml', 'routes:'), 'routes.yaml', {
    clock: { now: () => Date.parse('2026-11-21') },
  });
  expect([faults, warnings]).toEqual([[], []]);
});

it('names only scripts that exist', () => {
  const named = [...readme.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name ?? '');
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  expect([scripts['start'], scripts['test']]).not.toContain(undefined);
});

it('links only to files that exist', () => {
  const files = [...readme.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(([, file]) => file ?? '');
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

it('shows what `check` really prints', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'readme-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = readmeBlock('yaml', 'routes:').replace(/sunset: .*/, 'sunset: 2026-05-01');
  await writeFile(join(folder, 'routes.yaml'), file);
  let printed = '';
  const output = { write: (text: string) => (printed += text) };
  const code = await run(['check'], { stdout: output, stderr: output, env: {}, cwd: folder });
  expect(code).toBe(1);
  expect(`$ npx version-gateway check\n${printed}`).toBe(readmeBlock('console', 'version-gateway check'));
});
