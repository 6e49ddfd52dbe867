import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Documents } from '../../../gateway/contract/document/documents.ts';
import { below, pointerOf } from '../../../gateway/contract/document/located.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { contractOf, documentsOf, findingsBetween, type Json, told } from '../../contracts/compat/support/comparing.ts';
import { errorMessage, open, write } from './openContract.ts';

const id = 'https://a.example/schemas/drink.json';
const string = { type: 'string' };
const drink = '/components/schemas/Drink';

function contract(schemas: Json): Json {
  return contractOf('response', { $ref: '#/components/schemas/Drink' }, schemas);
}

/** Where the `$ref` leads that the pointer names. */
function targetOf(documents: Documents, pointer: string): string {
  const keys = pointer.split('/').slice(1);
  const { place } = documents.resolve(keys.reduce(below, documents.root));
  return `${place.file.name}#${pointerOf(place)}`;
}

function targetIn(schemas: Json, pointer: string): string {
  return targetOf(documentsOf(contract(schemas)), `/components/schemas${pointer}`);
}

/** `Drink` with an `$id`, and a field `to` that is a `$ref`. */
function referring(to: string, more: Json = {}, name = id): Json {
  return { $id: name, properties: { to: { $ref: to } }, ...more };
}

describe('a $ref below an $id', () => {
  it.each<[string, Json, string]>([
    ['refers to that schema', referring('#'), drink],
    ['refers to a part of it', referring('#/$defs/P', { $defs: { P: string } }), `${drink}/$defs/P`],
    ['refers to its anchor', referring('#p', { $defs: { P: { $anchor: 'p' } } }), `${drink}/$defs/P`],
    ['may have the whole URI', referring(`${id}#/$defs/P`, { $defs: { P: string } }), `${drink}/$defs/P`],
    ['may be below a relative one', referring('#/$defs/P', { $defs: { P: string } }, 'd'), `${drink}/$defs/P`],
    ['may be below a urn', referring('#/$defs/P', { $defs: { P: string } }, 'urn:x:d'), `${drink}/$defs/P`],
    ['may have a pointer from the root of the file', referring('#/components/schemas/Bar'), '/components/schemas/Bar'],
    ['may have an anchor from elsewhere in the file', referring('#bar'), '/components/schemas/Bar'],
    ['is relative to it', referring('bar.json'), '/components/schemas/Bar'],
    ['is relative to its folder', referring('../schemas/bar.json#/items'), '/components/schemas/Bar/items'],
    ['may begin with the host', referring('/schemas/bar.json'), '/components/schemas/Bar'],
  ])('%s', (_what, schema, target) => {
    const bar = { $id: 'https://a.example/schemas/bar.json#', $anchor: 'bar', items: string };
    expect(targetIn({ Drink: schema, Bar: bar }, '/Drink/properties/to')).toBe(`contract#${target}`);
  });

  it('is relative to the innermost one', () => {
    const inner = { $id: 'inner/', $ref: 'p.json', properties: { to: { $ref: '#/$defs/P' } }, $defs: { P: string } };
    const schemas = {
      Near: { $id: 'https://a.example/schemas/inner/p.json' },
      Far: { $id: 'https://a.example/schemas/p.json' },
      Drink: { $id: id, properties: { inner }, $defs: { P: string } },
    };
    const at = '/Drink/properties/inner';
    expect(targetIn(schemas, at)).toBe('contract#/components/schemas/Near');
    expect(targetIn(schemas, `${at}/properties/to`)).toBe(`contract#/components/schemas${at}/$defs/P`);
  });

  it('has another target below another $id', () => {
    const schema = { properties: { to: { $ref: '#/$defs/P' } }, $defs: { P: string } };
    const documents = documentsOf(contract({ Drink: { $id: id, ...schema }, Bar: { $id: 'urn:x:bar', ...schema } }));
    const targets = ['Drink', 'Bar'].map((name) => targetOf(documents, `/components/schemas/${name}/properties/to`));
    expect(targets).toEqual([`contract#${drink}/$defs/P`, 'contract#/components/schemas/Bar/$defs/P']);
  });

  it.each([
    [
      'a field called $id',
      { properties: { $id: { $ref: '#/$defs/P' } }, $defs: { P: string } },
      '/Drink/properties/$id',
      '#/$defs/P',
    ],
    [
      'an $id that is only a fragment, as in older drafts',
      referring('#/$defs/P', { $defs: { P: string } }, '#drink'),
      '/Drink/properties/to',
      '#/$defs/P',
    ],
    ['a pointer to nothing', referring(`${id}#/nothing`), '/Drink/properties/to', `${id}#/nothing`],
  ])('leads nowhere: %s', async (_what, schema, pointer, ref) => {
    expect(await errorMessage(() => targetIn({ Drink: schema }, pointer))).toBe(
      `contract#/components/schemas${pointer}: refers to ${JSON.stringify(ref)}, which does not exist`,
    );
  });
});

describe('files', () => {
  const schemas = { Drink: referring('bar.json') };

  it('are opened for a name that no `$id` has', async () => {
    const folder = temporaryFolder();
    write(folder, { 'x.json': JSON.stringify(contract(schemas)), 'bar.json': '{ "type": "string" }' });
    expect(targetOf(await open('x.json', folder), `${drink}/properties/to`)).toBe('bar.json#');
  });

  it('are reported if they are missing', async () => {
    const folder = temporaryFolder();
    write(folder, { 'x.json': JSON.stringify(contract(schemas)) });
    const documents = await open('x.json', folder);
    const refused = await errorMessage(() => targetOf(documents, `${drink}/properties/to`));
    expect(refused).toBe(
      `x.json#${drink}/properties/to: refers to "bar.json", which cannot be read: there is no such file`,
    );
  });

  it('have their own `$id`s', async () => {
    const folder = temporaryFolder();
    const outer = contract({ Drink: { $ref: 'other.yaml#/Drink' } });
    const text = `Drink: { $id: '${id}', $ref: bar.json }\nBar: { $id: 'https://a.example/schemas/bar.json' }\n`;
    write(folder, { 'x.json': JSON.stringify(outer), 'other.yaml': text });
    expect(targetOf(await open('x.json', folder), drink)).toBe('other.yaml#/Bar');
  });
});

it('an $id is never fetched, even if fetching is allowed', async () => {
  const folder = temporaryFolder();
  const requested: unknown[] = [];
  const server = createServer((request, response) => {
    requested.push(request.url);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [bar, other] = [`${origin}/bar.json`, `${origin}/other.json`];
  const schemas = { Drink: referring(bar), Bar: { $id: bar }, Other: { $ref: other } };
  write(folder, { 'x.json': JSON.stringify(contract(schemas)) });
  for (const allowRemote of [false, true]) {
    const documents = await open('x.json', folder, { allowRemote });
    expect(targetOf(documents, `${drink}/properties/to`)).toBe('x.json#/components/schemas/Bar');
  }
  expect(requested).toEqual(['/other.json']);
});

describe('between two contracts', () => {
  const object = (...names: string[]): Json => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, string])),
  });

  it.each<[string, (p: Json) => Json, string]>([
    [
      'a part of its own',
      (P) => ({ Drink: referring('#/$defs/P', { $defs: { P } }) }),
      'GET /drinks: response 200 field `to.b` was removed',
    ],
    [
      'another schema',
      (P) => ({ Drink: { $id: id, $ref: 'p.json' }, P: { $id: 'https://a.example/schemas/p.json', ...P } }),
      'GET /drinks: response 200 field `b` was removed',
    ],
    [
      'the target of an inner $id that the outer one would resolve to another schema',
      (P) => ({
        Drink: { $id: id, properties: { to: { $id: 'inner/', $ref: 'p.json' } } },
        Near: { $id: 'https://a.example/schemas/inner/p.json', ...P },
        Far: { $id: 'https://a.example/schemas/p.json' },
      }),
      'GET /drinks: response 200 field `to.b` was removed',
    ],
  ])('%s is compared', (_what, schemas, sentence) => {
    const [old, now] = [contract(schemas(object('a', 'b'))), contract(schemas(object('a')))];
    expect(told(findingsBetween(old, now))).toEqual([`response-field-removed: ${sentence}`]);
    expect(told(findingsBetween(old, old))).toEqual([]);
  });
});
