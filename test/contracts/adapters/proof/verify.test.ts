import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { formatFault } from '../../../../gateway/config/fault.ts';
import { loadSnapshot, parseConfig } from '../../../../gateway/config/load.ts';
import { prepareAdaptersAndGrease } from '../../../../gateway/process/runtime/adapterCheck.ts';
import { LoadThread } from '../../../../gateway/process/runtime/loadThread.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { write } from '../../../contract/document/openContract.ts';
import { deepRef, deepSchemas } from '../../../contract/schema/deepSchemas.ts';
import { runIn } from '../../../process/cli/io.ts';
import { jsonResponse } from '../../shadow/pairs.ts';
import {
  type AdapterFixture,
  acceptedOrFaults,
  adapterFixtures,
  loadFixture,
  loadPair,
  object,
  printed,
} from '../fixtures.ts';

it.each(adapterFixtures('bad-adapters'))('bad-adapters/$name is rejected', async (fixture: AdapterFixture) => {
  const result = await loadFixture(fixture);
  expect(printed(result)).toBe(fixture.expected);
  expect(result.faults.length).toBeGreaterThan(0);
  expect(result.snapshot).toBeUndefined();
  for (const { line, path, remedy } of result.faults) {
    expect(line).toBeGreaterThan(0);
    expect(path).toMatch(/^routes\.\/v1\./);
    expect(remedy).not.toBe('');
  }
});

it.each(adapterFixtures('good-adapters'))('good-adapters/$name is accepted', async (fixture: AdapterFixture) => {
  const { snapshot, faults, warnings } = await loadFixture(fixture);
  expect(printed({ faults, warnings })).toBe(fixture.expected);
  const prepared = snapshot?.versions.get('v1')?.adapter?.derivedFromContracts;
  expect(prepared?.hash).toMatch(/^[0-9a-f]{12}$/);
  expect([...(prepared?.routes.keys() ?? [])]).toHaveLength(1);
});

const samples = (rows: string): string => `
routes:
  /v1:
    upstream: http://127.0.0.1:3001
    contract: services/v1/contract/openapi.yaml
    adapter:
      from: /v2
      routes:
${rows}
  /v2: { upstream: "http://127.0.0.1:3002", contract: services/v2/contract/openapi.yaml }
`;

const drink = '{ rename: { name: title } }, { convert: { price: decimal_string(2) } }, { drop: glass }';

it('accepts an adapter of the sample services, and warns of decimals that are rounded', async () => {
  const rows = `
        GET /drinks/{id}: { to: "GET /cocktails/{id}", response: { 200: [${drink}] } }
        GET /cocktails: { to: GET /cocktails, response: { 200: [{ each: { cocktails: [${drink}] } }] } }
        GET /ingredients: { to: GET /ingredients, request: { query: [{ default: { base: gin } }] } }
        GET /health: { to: GET /health }
        GET /legacy-search: { gone: "v2 has no search" }
        POST /cocktails:
          to: POST /cocktails
          request: { body: [{ rename: { title: name } }, { convert: { price: number } }] }
          response: { 201: [${drink}] }`;
  const { faults, warnings } = await prepareAdaptersAndGrease(parseConfig(samples(rows), 'adapters.yaml'));
  expect(faults).toEqual([]);
  expect(new Set(warnings.map(({ message }) => message))).toEqual(
    new Set(['The number may have more than 2 decimals. They are rounded.']),
  );
});

it('rejects the ingredients of the sample services without a base, which v2 requires', async () => {
  const result = await prepareAdaptersAndGrease(
    parseConfig(samples('        GET /ingredients: { to: GET /ingredients }'), 'adapters.yaml'),
  );
  expect(result.faults.map(formatFault).join()).toContain('query parameter `base` is now required');
});

it('changes the hash with the operations and with a contract', async () => {
  const [fixture] = adapterFixtures('good-adapters');
  if (!fixture) throw new Error('no fixture');
  const hashOf = async (change: Partial<AdapterFixture>): Promise<string | undefined> =>
    (await loadFixture({ ...fixture, ...change })).snapshot?.versions.get('v1')?.adapter?.derivedFromContracts?.hash;
  const first = await hashOf({});
  expect(await hashOf({ routes: fixture.routes.replace('3001', '3009') })).toBe(first);
  expect(await hashOf({ v1: `${fixture.v1}# a comment\n` })).not.toBe(first);
  expect(await hashOf({ routes: fixture.routes.replace('/v1:', '/v1:\n    # a comment') })).toBe(first);
});

it('does nothing for a file without adapters', async () => {
  const result = parseConfig('routes: { /v1: http://127.0.0.1:3001 }', 'adapters.yaml');
  expect(await prepareAdaptersAndGrease(result)).toBe(result);
});

const fixtureNamed = (folder: string, name: string): AdapterFixture => {
  const found = adapterFixtures(folder).find((one) => one.name === name);
  if (!found) throw new Error(`no fixture ${name}`);
  return found;
};

function folderWith({ routes, v1, v2 }: AdapterFixture): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'routes.yaml'), routes);
  writeFileSync(join(folder, 'v1.yaml'), v1);
  writeFileSync(join(folder, 'v2.yaml'), v2);
  return folder;
}

it('warns of a limit that no generated response exceeds', async () => {
  const fixture = fixtureNamed('bad-adapters', 'longer-text');
  const { faults, warnings } = await loadFixture(fixture, 0);
  expect([faults.length, warnings.map(({ message }) => message)]).toEqual([
    0,
    [expect.stringContaining('has a maxLength of `60` instead of `20`')],
  ]);
});

it('rejects operations that fit only some of the values that the contract allows', async () => {
  const text = { type: 'string' };
  const v1 = object({ b: { anyOf: [text, object({ a: text })] } });
  const v2 = object({ a: text, b: { anyOf: [text, object({})] } });
  expect(acceptedOrFaults(await loadPair({ v1, v2, operations: [{ move: { '/a': '/b/a' } }] }))).toContain(
    'A response 200 that the contract allows cannot be adapted: the value at /b cannot be adapted.',
  );
});

it('rejects an adapter whose contract is not OpenAPI 3', async () => {
  const good = fixtureNamed('good-adapters', 'rename-and-drop');
  const result = await loadFixture({ ...good, v2: good.v2.replace('openapi: 3.1.0', "swagger: '2.0'") });
  expect(printed(result)).toBe(
    'routes.yaml:11:45  routes./v2.contract\n  v2.yaml: is Swagger 2.0, not OpenAPI 3.  Convert it to OpenAPI 3 first.\n',
  );
});

it('rejects a route whose schemas are nested too deeply', async () => {
  const { routes } = fixtureNamed('good-adapters', 'rename-and-drop');
  const deep = (path: string) => {
    const paths = { [path]: { get: { responses: { 200: jsonResponse(deepRef) } } } };
    const info = { title: 'drinks', version: '1' };
    return JSON.stringify({ openapi: '3.1.0', info, paths, components: { schemas: deepSchemas() } });
  };
  const result = await loadFixture({ routes, v1: deep('/drinks'), v2: deep('/cocktails') });
  expect(printed(result)).toMatch(
    /^routes\.yaml:8:9 {2}routes\.\/v1\.adapter\.routes\.GET \/drinks\n.*: has schemas that are nested too deeply, .* {2}Leave out the innermost schemas: .*\n$/,
  );
});

it('reports the faults of an adapter in check, and checks more responses with --adapters', async () => {
  const bad = fixtureNamed('bad-adapters', 'rename-of-unknown-field');
  expect(await runIn(folderWith(bad), ['check'])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('The contract has no field nam here.  Did you mean name?'),
  });
  const good = folderWith(fixtureNamed('good-adapters', 'conversions'));
  expect(await runIn(good, ['check', '--adapters', '--strict'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('is valid'),
  });
});

it('reads the mapping of a discriminator that names a file', async () => {
  const good = fixtureNamed('good-adapters', 'rename-and-drop');
  const pet = `anyOf: [{ $ref: ./dog.yaml }, { type: object, required: [kind], properties: { kind: { const: cat } } }]
      discriminator: { propertyName: kind, mapping: { dog: dog.yaml } }`;
  const contract = (title: string) => `openapi: 3.1.0
info: { title: pets, version: '1' }
paths:
  /pet:
    get:
      responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/${title}' } } } } }
components:
  schemas:
    ${title}:
      ${pet}
`;
  const routes = good.routes.replace(/^ {6}routes:\n(?: {8}.*\n)+/m, '      routes: { GET /pet: { to: GET /pet } }\n');
  const folder = folderWith({ ...good, routes, v1: contract('Pet'), v2: contract('Animal') });
  writeFileSync(join(folder, 'dog.yaml'), 'type: object\nrequired: [kind]\nproperties: { kind: { const: dog } }\n');
  expect(await runIn(folder, ['check'])).toMatchObject({ code: 0, stdout: expect.stringContaining('is valid') });
});

it('reads security schemes in other files', async () => {
  const good = fixtureNamed('good-adapters', 'rename-and-drop');
  const withKey = (contract: string) =>
    `${contract}security: [{ key: [] }]\ncomponents: { securitySchemes: { key: { $ref: key.yaml } } }\n`;
  const folder = folderWith({ ...good, v1: withKey(good.v1), v2: withKey(good.v2) });
  writeFileSync(join(folder, 'key.yaml'), 'type: apiKey\nin: header\nname: X-Key\n');
  expect(await runIn(folder, ['check'])).toMatchObject({ code: 0, stdout: expect.stringContaining('is valid') });
});

it('reads path items in other files, and compares contracts that differ only there', async () => {
  const { routes } = fixtureNamed('good-adapters', 'rename-and-drop');
  const contract = `openapi: 3.1.0
info: { title: drinks, version: '1' }
paths:
  /drinks: { $ref: drinks.yaml }
`;
  const itemWith = (field: string) =>
    `get: { responses: { '200': { description: '', content: { application/json: { schema: { type: object, required: [${field}], properties: { ${field}: { type: string } } } } } } } }\n`;
  const checked = (method: string) => {
    const rows = `      routes: { ${method} /drinks: { to: ${method} /drinks, response: { 200: [{ rename: { name: title } }] } } }\n`;
    const withRows = routes.replace(/^ {6}routes:\n(?: {8}.*\n)+/m, rows);
    const folder = temporaryFolder();
    write(folder, { 'routes.yaml': withRows.replace('v1.yaml', 'v1/api.yaml').replace('v2.yaml', 'v2/api.yaml') });
    for (const [version, field] of [
      ['v1', 'title'],
      ['v2', 'name'],
    ] as const)
      write(folder, { [`${version}/api.yaml`]: contract, [`${version}/drinks.yaml`]: itemWith(field) });
    return runIn(folder, ['check']);
  };
  expect(await checked('GET')).toMatchObject({ code: 0, stdout: expect.stringContaining('is valid') });
  expect(await checked('POST')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('The contract of /v1 has no route POST /drinks.'),
  });
});

it('refuses a reload with a faulty adapter, and accepts the corrected file', async () => {
  const good = fixtureNamed('good-adapters', 'rename-and-drop');
  const folder = folderWith(good);
  const path = join(folder, 'routes.yaml');
  const options = { file: 'routes.yaml', path, cwd: folder, env: {}, overrides: {} };
  const thread = new LoadThread(options, { snapshot: loadSnapshot(path, {}), digest: undefined });
  onTestFinished(() => thread.close());
  writeFileSync(path, good.routes.replace('name: title', 'nam: title'));
  const refused = await thread.load();
  expect(() => refused.snapshot()).toThrow('The contract has no field nam here.  Did you mean name?');
  writeFileSync(path, good.routes);
  const accepted = (await thread.load()).snapshot();
  const direct = await loadFixture(good);
  const preparedIn = (snapshot: typeof accepted | undefined) =>
    snapshot?.versions.get('v1')?.adapter?.derivedFromContracts;
  expect(preparedIn(accepted)).toEqual(preparedIn(direct.snapshot));
});
