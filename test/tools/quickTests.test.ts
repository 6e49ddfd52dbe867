import { beforeAll, expect, it } from 'vitest';
import { importersOf, quickTestsOf } from '../../tools/quickTests.ts';
import { filesBelow } from '../support/imports.ts';

let importers: ReadonlyMap<string, readonly string[]>;
beforeAll(() => {
  importers = importersOf([...filesBelow('gateway'), ...filesBelow('test')]);
});

it('are the tests that import a changed file', () => {
  const tests = quickTestsOf(['gateway/usage/counting/collector.ts'], importers);
  expect(tests).toContain('test/usage/counting/collector.test.ts');
  expect(tests).toContain('test/architecture.test.ts');
  expect(tests).not.toContain('test/wire/tunnel.test.ts');
});

it('are the tests of the importers, if no test imports a changed file', () => {
  const untested = filesBelow('gateway').filter(
    (file) => !(importers.get(file) ?? []).some((one) => one.endsWith('.test.ts')),
  );
  const [withImporters = ''] = untested.filter((file) => (importers.get(file) ?? []).length > 0);
  expect(quickTestsOf([withImporters], importers).length).toBeGreaterThan(1);
});

it('are changed tests themselves, but no container or soak tests', () => {
  const changed = ['test/wire/tunnel.test.ts', 'test/compose/scale.test.ts', 'README.md'];
  expect(quickTestsOf(changed, importers)).toEqual(['test/architecture.test.ts', 'test/wire/tunnel.test.ts']);
});

it('are few for every file of the gateway', () => {
  const counts = filesBelow('gateway').map((file) => quickTestsOf([file], importers).length);
  const median = counts.toSorted((a, b) => a - b)[Math.floor(counts.length / 2)];
  expect(median).toBeLessThan(10);
});
