import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { bundledText } from '../../../gateway/contract/document/open.ts';
import { runIn } from '../../process/cli/io.ts';
import { folderOfSeveralFiles, severalFiles } from '../../support/severalFiles.ts';

const parsed = (text: string) => parse(text, { maxAliasCount: -1 });

/** Every `$ref` and every value of a `mapping` in a document. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    if (key === 'mapping') return Object.values(member as Record<string, string>);
    return key === '$ref' ? [String(member)] : referencesIn(member);
  });
}

it.each(['yaml', 'json'] as const)('has all files in one document, as %s', (format) => {
  const document = parsed(bundledText(join(folderOfSeveralFiles(), 'api.yaml'), format));
  expect(Object.keys(document['x-files']).toSorted()).toEqual(
    Object.keys(severalFiles)
      .filter((name) => name !== 'api.yaml')
      .toSorted(),
  );
  const others = referencesIn(document).filter((reference) => !reference.startsWith('#'));
  expect(others).toEqual(['missing.yaml', 'https://schemas.example/picture.json']);
});

it('means the same as the files', async () => {
  // Without the references that lead nowhere, which a comparison would report.
  const schemas = severalFiles['schemas/my drink.yaml']?.replace(/ {4}(?:notes|picture):.*\n/g, '') ?? '';
  const folder = folderOfSeveralFiles({ ...severalFiles, 'schemas/my drink.yaml': schemas });
  writeFileSync(join(folder, 'bundle.yaml'), bundledText(join(folder, 'api.yaml'), 'yaml'));
  const { code, stdout } = await runIn(folder, ['compat', '--validate', '--all', 'api.yaml', 'bundle.yaml']);
  expect(code).toBe(0);
  expect(stdout).toContain('the document is described differently: x-files');
  expect(stdout).toContain('1 compatible change.');
  for (const name of Object.keys(severalFiles).filter((name) => name !== 'api.yaml')) rmSync(join(folder, name));
  expect((await runIn(folder, ['compat', 'bundle.yaml', 'bundle.yaml'])).code).toBe(0);
  // A change in one of the files is found in the bundle, too.
  const changed = schemas.replace('kind: { type: string }', 'kind: { type: integer }');
  const other = folderOfSeveralFiles({ ...severalFiles, 'schemas/my drink.yaml': changed });
  writeFileSync(join(folder, 'changed.yaml'), bundledText(join(other, 'api.yaml'), 'yaml'));
  expect((await runIn(folder, ['compat', 'bundle.yaml', 'changed.yaml'])).code).toBe(1);
});

it('takes no file from outside the folder of the contract', () => {
  const folder = folderOfSeveralFiles({
    'secret.yaml': 'password: marker\n',
    'api/api.yaml': "openapi: 3.1.0\npaths: {}\nx-a: { $ref: '../secret.yaml' }\n",
  });
  expect(bundledText(join(folder, 'api/api.yaml'), 'yaml')).not.toContain('marker');
});

it('keeps the references below an $id, because #/… would be relative to it', () => {
  const folder = folderOfSeveralFiles({
    'api.yaml':
      "openapi: 3.1.0\npaths: {}\nx-a: { $ref: 'other.yaml' }\nx-b: { $id: 'https://a.example/', $ref: 'other.yaml' }\n",
    'other.yaml': 'type: string\n',
  });
  const document = parsed(bundledText(join(folder, 'api.yaml'), 'yaml'));
  expect([document['x-a'].$ref, document['x-b'].$ref]).toEqual(['#/x-files/other.yaml', 'other.yaml']);
});

it('has the files that only a discriminator or a $dynamicRef names, and no name of a schema in place of a file', () => {
  const folder = folderOfSeveralFiles({
    'api.yaml': `openapi: 3.1.0
paths: {}
components:
  schemas:
    cat.yaml: { type: object }
    Pet:
      type: object
      properties: { propertyName: { type: string }, mapping: { $ref: 'mapping.yaml' } }
      discriminator: { propertyName: kind, mapping: { dog: 'pets/dog.yaml', cat: cat.yaml, bird: Bird } }
      x-tree: { $dynamicRef: 'tree.yaml#node' }
`,
    'cat.yaml': 'type: string\n',
    'pets/dog.yaml': 'type: object\n',
    'mapping.yaml': 'type: object\n',
    'tree.yaml': '$dynamicAnchor: node\n',
  });
  const { components, 'x-files': files } = parsed(bundledText(join(folder, 'api.yaml'), 'yaml'));
  const { discriminator, properties, 'x-tree': tree } = components.schemas.Pet;
  expect(discriminator.mapping).toEqual({ dog: '#/x-files/pets~1dog.yaml', cat: 'cat.yaml', bird: 'Bird' });
  expect([properties.mapping.$ref, tree.$dynamicRef]).toEqual(['#/x-files/mapping.yaml', '#node']);
  expect(Object.keys(files)).toEqual(expect.arrayContaining(['pets/dog.yaml', 'mapping.yaml', 'tree.yaml']));
});
