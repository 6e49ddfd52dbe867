import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ParsedContracts, readContract } from '../../gateway/config/contracts.ts';
import { ReferencedFiles } from '../../gateway/config/referencedFiles.ts';
import { isUnusable } from '../../gateway/config/snapshot.ts';
import { folderOfSeveralFiles, severalFiles } from '../support/severalFiles.ts';
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

it('reads the path items, parameters and dates in other files', () => {
  const contract = readContract(join(folderOfSeveralFiles(), 'api.yaml'), true, 'v1', new ReferencedFiles());
  if (isUnusable(contract)) throw new Error(contract.problem);
  expect(contract.paths.entries()).toEqual([
    ['/drinks', 'GET'],
    ['/bars', 'GET PUT'],
  ]);
  expect(contract.headers).toEqual(['x-tenant']);
  expect(contract.ends).toMatchObject([{ method: 'GET', path: '/drinks', sunset: Date.parse('2029-01-01') }]);
});

it('knows all its files, and changes its digest with each of them', () => {
  const severalFilesFolder = folderOfSeveralFiles();
  const parsed = new ParsedContracts();
  const read = () => {
    const contract = readContract(join(severalFilesFolder, 'api.yaml'), true, 'v1', new ReferencedFiles(), parsed);
    if (isUnusable(contract)) throw new Error(contract.problem);
    return contract;
  };
  // `missing.yaml` does not exist: it may be created.
  const names = Object.keys(severalFiles);
  expect(
    read()
      .files.map(([file]) => file.slice(severalFilesFolder.length + 1))
      .toSorted(),
  ).toEqual([...names, 'schemas/missing.yaml'].toSorted());
  let { digest } = read();
  for (const name of names) {
    const file = join(severalFilesFolder, name);
    expect(read().digest, name).toBe(digest);
    writeFileSync(file, `${severalFiles[name]} `);
    expect(read().digest, name).not.toBe(digest);
    ({ digest } = read());
  }
  writeFileSync(join(severalFilesFolder, 'paths/drinks.yaml'), 'post: {}\n');
  expect(read().paths.find('/drinks')?.value ?? read().paths.entries()[0]?.[1]).toBe('POST');
  rmSync(join(severalFilesFolder, 'paths/drinks.yaml'));
  expect(read().paths.entries()[0]).toEqual(['/drinks', '']);
  expect(read().files).toContainEqual([join(severalFilesFolder, 'paths/drinks.yaml'), '']);
  writeFileSync(join(severalFilesFolder, 'paths/drinks.yaml'), 'put: {}\n');
  expect(read().paths.entries()[0]).toEqual(['/drinks', 'PUT']);
});

it('reads a contract again in another folder, although its main document is the same', () => {
  const api = "openapi: 3.1.0\npaths: { /drinks: { $ref: 'drinks.yaml' } }\n";
  const releases = folderOfSeveralFiles({
    '1/api.yaml': api,
    '1/drinks.yaml': 'get: {}\n',
    '2/api.yaml': api,
    '2/drinks.yaml': 'post: {}\n',
    '2/renamed.yaml': api,
  });
  const parsed = new ParsedContracts();
  const read = (file: string) => {
    const contract = readContract(join(releases, file), true, 'v1', new ReferencedFiles(), parsed);
    if (isUnusable(contract)) throw new Error(contract.problem);
    return { methods: contract.paths.entries()[0]?.[1], files: contract.files.map(([path]) => path) };
  };
  expect(read('1/api.yaml').methods).toBe('GET');
  expect(read('2/api.yaml').methods).toBe('POST');
  expect(read('2/renamed.yaml').files[0]).toBe(join(releases, '2/renamed.yaml'));
  symlinkSync('1', join(releases, 'current'));
  // The file is watched by the name that routes.yaml has.
  expect(read('current/api.yaml')).toMatchObject({
    methods: 'GET',
    files: [join(releases, 'current/api.yaml'), expect.anything()],
  });
  rmSync(join(releases, 'current'));
  symlinkSync('2', join(releases, 'current'));
  expect(read('current/api.yaml').methods).toBe('POST');
});
