import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { filesBelow, importsOf } from '../test/support/imports.ts';

// `npm run test:quick`: the tests that are closest to the files that differ from the last commit. `npm test` runs all of them.

/** Tests that need containers or hours have commands of their own. */
const isSlow = (file: string): boolean => /^test\/(compose|soak)\//.test(file);

/** Of every source and test file: the files that import it. */
export function importersOf(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const importers = new Map<string, string[]>();
  for (const { from, to, relative, typeOnly } of files.flatMap(importsOf))
    if (relative && !typeOnly) importers.set(to, [...(importers.get(to) ?? []), from]);
  return importers;
}

/**
 * The test files that import one of the changed files, or that changed themselves. If no test imports a changed file, the tests that
 * import its importers, and so on. The test of the import rules is always one of them.
 */
export function quickTestsOf(changed: readonly string[], importers: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Set(['test/architecture.test.ts']);
  for (const file of changed) {
    if (file.endsWith('.test.ts')) found.add(file);
    const seen = new Set([file]);
    for (let files = [file]; files.length > 0; ) {
      const next = files.flatMap((one) => importers.get(one) ?? []).filter((one) => !seen.has(one));
      for (const one of next) seen.add(one);
      const tests = next.filter((one) => one.endsWith('.test.ts') && !isSlow(one));
      for (const one of tests) found.add(one);
      files = tests.length > 0 ? [] : [...new Set(next)];
    }
  }
  return [...found].filter((one) => !isSlow(one)).toSorted();
}

/** The files that differ from the last commit; if none does, those of the last commit. */
function changedFiles(): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
  const edited = [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')];
  return edited.length > 0 ? edited : git('diff', '--name-only', 'HEAD~1', 'HEAD');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tests = quickTestsOf(changedFiles(), importersOf([...filesBelow('gateway'), ...filesBelow('test')]));
  const { status } = spawnSync('npx', ['vitest', 'run', '--project', 'gateway', '--project', 'shared*', ...tests], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
