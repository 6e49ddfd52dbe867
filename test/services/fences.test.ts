import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Contract } from '../support/contract.ts';

const versions = readdirSync('services')
  .filter((name) => /^v\d+$/.test(name))
  .map((name) => `services/${name}`);

describe.each(versions)('%s', (folder) => {
  const { dependencies } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const sources = globSync(`${folder}/**/*.ts`, { exclude: ['**/node_modules/**'] });

  it.each(sources)('%s imports only its own folder, its packages and Node', (file) => {
    const outside = importsOf(file).filter((name) => {
      if (name.startsWith('node:') || name in dependencies) return false;
      return !(name.startsWith('.') && join(dirname(file), name).startsWith(`${folder}/`));
    });
    expect(outside, `${folder} must be deletable with rm -r`).toEqual([]);
  });

  it('has a contract without references to other files', () => {
    const { text } = Contract.read(`${folder}/contract/openapi.yaml`);
    expect([...text.matchAll(/\$ref: '([^']+)'/g)].filter(([, target]) => !target?.startsWith('#/'))).toEqual([]);
  });

  // Within a major a response may gain fields. A schema that forbids unknown fields would not allow that.
  it('has a contract that allows added response fields', () => {
    const { text } = Contract.read(`${folder}/contract/openapi.yaml`);
    expect(text).not.toMatch(/additionalProperties|unevaluatedProperties/);
  });
});

it('finds every kind of import', () => {
  expect(importsOf('test/services/fences.test.ts')).toContain('node:fs');
  expect(
    importsIn(`import '../a.ts'; const b = await import("../b.ts"); export * from '../c.ts'; require('d')`),
  ).toEqual(['../a.ts', '../b.ts', '../c.ts', 'd']);
});

function importsOf(file: string): string[] {
  return importsIn(readFileSync(file, 'utf8'));
}

function importsIn(source: string): string[] {
  return [...source.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"]([^'"]+)['"]/g)].map(([, name]) => name ?? '');
}
