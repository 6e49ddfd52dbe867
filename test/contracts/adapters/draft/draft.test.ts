import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseConfig } from '../../../../gateway/config/load.ts';
import { prepareAdaptersAndGrease } from '../../../../gateway/process/runtime/adapterCheck.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { deepRef, deepSchemas } from '../../../contract/schema/deepSchemas.ts';
import { runIn } from '../../../process/cli/io.ts';
import { type AdapterFixture, adapterFixtures, loadFixture, printed } from '../fixtures.ts';

function folderWith({ routes, v1, v2 }: Pick<AdapterFixture, 'routes' | 'v1' | 'v2'>): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'routes.yaml'), routes);
  writeFileSync(join(folder, 'v1.yaml'), v1);
  writeFileSync(join(folder, 'v2.yaml'), v2);
  return folder;
}

/** The draft below the contract of v1. */
function pasted(routes: string, draft: string): string {
  return routes.replace('    contract: v1.yaml\n', `$&${draft.replaceAll('$', '$$$$')}`);
}

/** The sentences of faults have tests of their own. */
function withoutSentences(draft: string): string {
  return draft.replace(/(?:^ *# fault: .*\n)+/gm, '        # fault\n').replace(/ {2}# (fault|warning): .*/g, '  # $1');
}

it.each(adapterFixtures('drafts'))('drafts/$name is drafted and can be loaded', async (fixture: AdapterFixture) => {
  const { code, stdout, stderr } = await runIn(folderWith(fixture), ['adapter', '/v1', '/v2']);
  expect(withoutSentences(stdout + stderr)).toBe(fixture.expected);
  expect(code).toBe(stderr.endsWith(', 0 with open faults\n') ? 0 : 1);
  const routes = pasted(fixture.routes, stdout);
  const { faults, snapshot } = await loadFixture({ ...fixture, routes });
  expect(printed({ faults, warnings: [] })).toBe('');
  const [, adapted, gone] = /(\d+) adapted, (\d+) gone/.exec(stderr) ?? [];
  const rows = snapshot?.versions.get('v1')?.adapter?.routes ?? [];
  expect(rows.filter((row) => 'gone' in row)).toHaveLength(Number(gone));
  expect(rows).toHaveLength(Number(adapted) + Number(gone));
});

it('drafts the adapter of the sample services, and says that a base is needed', async () => {
  const { code, stdout, stderr } = await runIn('.', ['adapter', '/v1', '/v2', '--config', 'config/routes.yaml']);
  expect([code, stderr]).toEqual([1, '6 routes: 4 adapted, 1 gone, 1 with open faults\n']);
  expect(stdout).toContain(
    '        # fault: The contract of /v2 does not fit the adapted requests of /v1: query parameter `base`',
  );
  expect(stdout).toContain('default: { base: … }  # decide: … is one of gin, rum, tequila, vodka, whiskey\n');
  const example = await prepareAdaptersAndGrease(
    parseConfig(readFileSync('examples/adapter.yaml'), 'examples/adapter.yaml'),
  );
  const drafted = readFileSync('examples/adapter.yaml', 'utf8').replace(
    / {4}adapter:\n(?:.+\n)+\n/,
    () => `${stdout}\n`,
  );
  const found = await prepareAdaptersAndGrease(parseConfig(drafted, 'examples/adapter.yaml'));
  const used = ({ snapshot }: typeof example) =>
    new Map(
      snapshot?.versions.get('v1')?.adapter?.routes.flatMap((row) => {
        if ('gone' in row) return [];
        const list = [row.to, row.request, ...row.responses].flat();
        // v1 does not forbid the field that the example drops.
        const text = JSON.stringify(list, (key, value) => (key === 'place' ? undefined : value));
        return [[`${row.method} ${row.path}`, text.replaceAll(/,\{"kind":"drop","at":\["glass"\]\}/g, '')] as const];
      }),
    );
  expect(used(found)).toEqual(used(example));
  expect(used(found).size).toBe(4);
});

const get = (schema: string, parameters = '[]') => `openapi: 3.1.0
info: { title: drinks, version: '1' }
paths:
  /a:
    get: { parameters: ${parameters}, responses: { '200': { description: '', content: { application/json: { schema: ${schema} } } } } }
`;
const routes = (v2 = 'contract: v2.yaml') => `routes:
  /v1:
    upstream: http://127.0.0.1:3001
    contract: v1.yaml
  /v2: { upstream: "http://127.0.0.1:3002", ${v2} }
  /v3: { upstream: "http://127.0.0.1:3003", contract: v1.yaml }
`;

it('indents the section as the keys of the version, and writes it to a file', async () => {
  const text = routes().replaceAll(/^ {4}/gm, '      ');
  const folder = folderWith({ routes: text, v1: get('{ type: integer }'), v2: get('{ type: integer, minimum: 1 }') });
  const result = await runIn(folder, ['adapter', '/v1', 'v2', '--output', 'draft.yaml']);
  expect(result).toEqual({
    code: 0,
    stdout: '',
    stderr: 'Wrote draft.yaml.\n1 route: 1 adapted, 0 gone, 0 with open faults\n',
  });
  const draft = readFileSync(join(folder, 'draft.yaml'), 'utf8');
  expect(draft).toMatch(/^ {6}# .*\n {6}adapter:\n {8}from: \/v2\n/);
});

it.each([
  [
    'a retired version',
    'retired: true, contract: v2.yaml',
    '/v2',
    '/v2: is retired, so it has no backend.  Name another version.\n',
  ],
  [
    'a version with an adapter',
    'contract: v2.yaml, adapter: { from: /v3, routes: { GET /a: { to: GET /a } } }',
    '/v2',
    '/v2: has an adapter itself.  Name the version whose backend answers its requests.\n',
  ],
  [
    'equal contracts',
    'contract: v2.yaml',
    '/v3',
    '/v1: cannot be adapted: /v1 and /v3 have the same contract, so there is nothing to adapt.  Name the contract of /v1, or remove the adapter.\n',
  ],
])('refuses %s', async (_what, v2, name, stderr) => {
  const folder = folderWith({ routes: routes(v2), v1: get('{ type: integer }'), v2: get('{ type: string }') });
  expect(await runIn(folder, ['adapter', '/v1', name])).toEqual({ code: 2, stdout: '', stderr });
});

it('drafts and checks parameters whose texts are no numbers of JSON, such as 007 and 9.50', async () => {
  const v1 = get(
    '{ type: integer }',
    "[{ name: row, in: query, schema: { type: string, pattern: '^[0-9]{3}$' } }, { name: price, in: query, schema: { type: string, pattern: '^[0-9][.][0-9]0$' } }]",
  );
  const v2 = get(
    '{ type: integer }',
    '[{ name: Row, in: query, schema: { type: integer } }, { name: price, in: query, schema: { type: number } }]',
  );
  const { code, stdout } = await runIn(folderWith({ routes: routes(), v1, v2 }), ['adapter', '/v1', '/v2']);
  expect(code).toBe(0);
  expect(stdout).toContain(
    '- rename: { row: Row }\n              - convert: { Row: integer }\n              - convert: { price: number }\n',
  );
  const renamed = pasted(routes(), stdout.replace('- convert: { Row: integer }', ''));
  const { faults } = await loadFixture({ routes: renamed, v1, v2 });
  expect(faults.map(({ message }) => message).join()).toContain('Row');
});

it('leaves a route to its reader if the check cannot follow a reference of the contract', async () => {
  const key = "components: { securitySchemes: { key: { $ref: '#/components/securitySchemes/missing' } } }\n";
  const contract = (schema: string) => get(schema).replace('get: {', 'get: { security: [{ key: [] }],') + key;
  const folder = folderWith({ routes: routes(), v1: contract('{ type: integer }'), v2: contract('{ enum: [1] }') });
  const { code, stdout } = await runIn(folder, ['adapter', '/v1', '/v2']);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /# fault: \S+key: refers to "#\/components\/securitySchemes\/missing", which does not exist\..*\n *# GET \/a: /,
  );
});

it('drafts nothing if the schemas of a route are nested too deeply', async () => {
  const components = { schemas: deepSchemas({ refer: (next) => ({ anyOf: [next, { type: 'string' }] }) }) };
  // In JSON: to parse this much YAML takes seconds.
  const deep = JSON.stringify({ ...parse(get(JSON.stringify(deepRef))), components });
  const folder = folderWith({ routes: routes(), v1: deep, v2: deep.replace('"/a":', '"/b":') });
  const moved = routes().replace('    contract: v1.yaml', '$&\n    moved: { /a: /b }');
  writeFileSync(join(folder, 'routes.yaml'), moved);
  expect(await runIn(folder, ['adapter', '/v1', '/v2'])).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('has schemas that are nested too deeply'),
  });
});

it('drafts a route whose security scheme is in another file', async () => {
  const key = 'components: { securitySchemes: { key: { $ref: key.yaml } } }\n';
  const contract = (schema: string) => get(schema).replace('get: {', 'get: { security: [{ key: [] }],') + key;
  const folder = folderWith({ routes: routes(), v1: contract('{ type: integer }'), v2: contract('{ enum: [1] }') });
  writeFileSync(join(folder, 'key.yaml'), 'type: apiKey\nin: header\nname: X-Key\n');
  expect(await runIn(folder, ['adapter', '/v1', '/v2'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('1 adapted'),
  });
});

it('follows the moved tables of the versions in between', async () => {
  const contract = (path: string) => get('{ type: integer }').replace('/a:', `${path}:`);
  const folder = folderWith({
    routes: `routes:
  /v1: { upstream: "http://127.0.0.1:3001", contract: v1.yaml, moved: { /a: /b } }
  /v2: { upstream: "http://127.0.0.1:3002", contract: v2.yaml, moved: { /b: /c } }
  /v3: { upstream: "http://127.0.0.1:3003", contract: v3.yaml }
`,
    v1: contract('/a'),
    v2: contract('/b'),
  });
  writeFileSync(join(folder, 'v3.yaml'), contract('/c'));
  const { code, stdout } = await runIn(folder, ['adapter', '/v1', '/v3']);
  expect([code, stdout.split('\n').at(-2)]).toEqual([0, '        GET /a: { to: GET /c }']);
});

it('drafts from contracts whose enum is empty', async () => {
  const texts = { routes: routes(), v1: get('{ type: integer }'), v2: get('{ type: integer, enum: [] }') };
  expect(await runIn(folderWith(texts), ['adapter', '/v1', '/v2'])).toMatchObject({ code: 0 });
});
