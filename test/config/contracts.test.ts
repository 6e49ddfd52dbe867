import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isUnusable, readContract } from '../../gateway/config/contracts.ts';
import { ReferencedFiles } from '../../gateway/config/referencedFiles.ts';
import { fixtureFolder } from './fixtures.ts';
import { temporaryFolder } from './temporary.ts';

const folder = fixtureFolder('contracts');

it.each(['missing.yaml', '', 'not-openapi.yaml', 'broken.yaml', 'paths-list.json'])('refuses %s', (name) => {
  expect(isUnusable(readContract(join(folder, name), true, 'v1', new ReferencedFiles()))).toBe(true);
});

it('reads path templates without the version in the document', () => {
  const contract = readContract(join(folder, 'v1.yaml'), false, 'v1', new ReferencedFiles());
  if (isUnusable(contract)) throw new Error(contract.problem);
  const templates = contract.paths.entries().map(([template]) => template);
  expect(templates).toEqual(['/drinks', '/drinks/{id}', '/v2/kept', '/', '/v10/kept']);
  expect(contract.paths.find('/drinks/7')).toBeDefined();
  expect([contract.file, contract.publish]).toEqual([join(folder, 'v1.yaml'), false]);
});

it('reads JSON', () => {
  const contract = readContract(join(folder, 'v2.json'), true, 'v2', new ReferencedFiles());
  expect(isUnusable(contract) ? contract : contract.paths.size).toBe(2);
});

it('reads path items that are references within the document', () => {
  const operation = { deprecated: true, 'x-sunset': '2029-01-01', parameters: [{ name: 'X-Bar', in: 'header' }] };
  const contractFolder = temporaryFolder();
  const document = {
    openapi: '3.1.0',
    paths: { '/a': { $ref: '#/components/pathItems/A', put: {} }, '/b': { $ref: 'b.yaml' } },
    components: { pathItems: { A: { get: operation } } },
  };
  writeFileSync(join(contractFolder, 'api.json'), JSON.stringify(document));
  const contract = readContract(join(contractFolder, 'api.json'), true, 'v1', new ReferencedFiles());
  if (isUnusable(contract)) throw new Error(contract.problem);
  expect(contract.paths.entries()).toEqual([
    ['/a', 'GET PUT'],
    ['/b', ''],
  ]);
  expect(contract.headers).toEqual(['x-bar']);
  expect(contract.ends.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /a']);
});
