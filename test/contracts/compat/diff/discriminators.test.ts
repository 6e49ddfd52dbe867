import { describe, expect, it } from 'vitest';
import type { Documents } from '../../../../gateway/contract/document/documents.ts';
import { compareContracts } from '../../../../gateway/contracts/compat/diff/contracts.ts';
import { findingsOf } from '../../../../gateway/contracts/compat/judge/findings.ts';
import { defaultLevelOf } from '../../../../gateway/contracts/compat/rules/rules.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { open, write } from '../../../contract/document/openContract.ts';
import { contractOf, findingsBetween, type Json, rulesAmong, told } from '../support/comparing.ts';

type Direction = 'request' | 'response';

const text = { type: 'string' };
const of = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: Json): Json => ({ type: 'object', required: ['kind'], properties });
const cat = object({ kind: text, meow: text });
const dog = object({ kind: text, bark: text });
const bird = object({ kind: text, wings: text });

interface Choice {
  readonly schemas: Json;
  readonly mapping?: Json;
  readonly alternatives?: readonly Json[];
}

function contract(direction: Direction, keyword: string, { schemas, mapping, alternatives }: Choice): Json {
  const list = alternatives ?? Object.keys(schemas).map(of);
  return contractOf(direction, { [keyword]: list, discriminator: { propertyName: 'kind', mapping } }, schemas);
}

function between(direction: Direction, old: Choice, now: Choice, keyword = 'oneOf'): string[] {
  return rulesAmong(findingsBetween(contract(direction, keyword, old), contract(direction, keyword, now)));
}

const mapped = (name: string, value = 'c'): Json => ({ [value]: of(name)['$ref'], d: 'Dog' });

describe.each(['oneOf', 'anyOf'])('%s', (keyword) => {
  describe.each(['request', 'response'] as const)('of a %s: nothing changes for clients', (direction) => {
    it.each<[what: string, old: Choice, now: Choice]>([
      [
        'a schema is renamed, and the mapping follows',
        { schemas: { Cat: cat, Dog: dog }, mapping: mapped('Cat') },
        { schemas: { Dog: dog, Kitten: cat }, mapping: mapped('Kitten') },
      ],
      [
        'all are renamed, and each is compatible with the others',
        { schemas: { Cat: cat, Dog: cat, Bird: object({ kind: text }) }, mapping: { c: 'Cat', d: 'Dog', b: 'Bird' } },
        { schemas: { B: object({ kind: text }), D: cat, C: cat }, mapping: { b: 'B', d: 'D', c: 'C' } },
      ],
      [
        'the mapping keeps the old name as a value',
        { schemas: { Cat: cat, Dog: dog } },
        { schemas: { Kitten: cat, Dog: dog }, mapping: { Cat: 'Kitten' } },
      ],
      [
        'the names are written out',
        { schemas: { Cat: cat, Dog: dog } },
        { schemas: { Cat: cat, Dog: dog }, mapping: { Cat: of('Cat')['$ref'], Dog: 'Dog' } },
      ],
      [
        'the field has its own constant',
        { schemas: { Cat: object({ kind: { const: 'cat' } }), Dog: dog } },
        { schemas: { Kitten: object({ kind: { const: 'cat' } }), Dog: dog } },
      ],
      [
        'a schema is written out where it is used',
        { schemas: { Cat: cat, Dog: dog } },
        { schemas: { Dog: dog }, alternatives: [cat, of('Dog')] },
      ],
      [
        'a copy is the target of the value',
        { schemas: { Cat: cat, Dog: dog }, mapping: mapped('Cat') },
        {
          schemas: { Cat: cat, Copy: cat, Dog: dog },
          mapping: mapped('Copy'),
          alternatives: [of('Cat'), of('Dog')],
        },
      ],
    ])('%s', (_what, old, now) => {
      expect(between(direction, old, now, keyword)).toEqual([]);
      expect(between(direction, now, old, keyword)).toEqual([]);
    });
  });

  it.each<[what: string, old: Choice, now: Choice, request: string[], response: string[]]>([
    [
      'an implicit name changes',
      { schemas: { Cat: cat, Dog: dog } },
      { schemas: { Kitten: cat, Dog: dog } },
      ['filter-value-added', 'filter-value-removed'],
      ['response-strengthened', 'response-value-added'],
    ],
    [
      'a value of the mapping is another one',
      { schemas: { Cat: cat, Dog: dog }, mapping: mapped('Cat') },
      { schemas: { Cat: cat, Dog: dog }, mapping: mapped('Cat', 'k') },
      ['filter-value-added', 'filter-value-removed'],
      ['response-strengthened', 'response-value-added'],
    ],
    [
      'a value of the mapping is another one, and so is the name',
      { schemas: { Cat: cat, Dog: dog }, mapping: mapped('Cat') },
      { schemas: { Kitten: cat, Dog: dog }, mapping: mapped('Kitten', 'k') },
      ['filter-value-added', 'filter-value-removed'],
      ['response-strengthened', 'response-value-added'],
    ],
    [
      'the old name gives way to a value of the mapping',
      { schemas: { Cat: cat, Dog: dog } },
      { schemas: { Kitten: cat, Dog: dog }, mapping: { k: 'Kitten' } },
      ['filter-value-added', 'filter-value-removed'],
      ['response-strengthened', 'response-value-added'],
    ],
    [
      'a value comes beside the name',
      { schemas: { Cat: cat, Dog: dog } },
      { schemas: { Cat: cat, Dog: dog }, mapping: { c: 'Cat' } },
      ['filter-value-added'],
      ['response-value-added'],
    ],
    [
      'two values change places',
      { schemas: { Cat: cat, Dog: dog }, mapping: { c: 'Cat', d: 'Dog' } },
      { schemas: { Cat: cat, Dog: dog }, mapping: { c: 'Dog', d: 'Cat' } },
      ['structure-changed', 'structure-changed'],
      ['structure-changed', 'structure-changed'],
    ],
    [
      'the target of the value has another name and a field less',
      { schemas: { Cat: cat, Dog: dog }, mapping: mapped('Cat') },
      { schemas: { Kitten: object({ kind: text }), Dog: dog }, mapping: mapped('Kitten') },
      ['request-field-removed'],
      ['response-field-removed'],
    ],
    [
      'an alternative goes with its value',
      { schemas: { Cat: cat, Dog: dog, Bird: bird }, mapping: { c: 'Cat', b: 'Bird' } },
      { schemas: { Cat: cat, Dog: dog }, mapping: { c: 'Cat' } },
      ['structure-changed'],
      ['response-strengthened'],
    ],
    [
      'only one alternative of two remains',
      { schemas: { Cat: cat, Dog: dog } },
      { schemas: { Dog: dog } },
      ['filter-value-removed', 'structure-equivalent'],
      ['response-strengthened', 'structure-equivalent'],
    ],
    [
      'only one alternative of two remains, with its value',
      { schemas: { Cat: cat, Dog: dog }, mapping: mapped('Cat') },
      { schemas: { Dog: dog }, mapping: { d: 'Dog' } },
      ['filter-value-removed', 'structure-equivalent'],
      ['response-strengthened', 'structure-equivalent'],
    ],
  ])('%s', (_what, old, now, request, response) => {
    expect(between('request', old, now, keyword)).toEqual(request);
    expect(between('response', old, now, keyword)).toEqual(response);
  });

  it('ignores the names of schemas without a discriminator', () => {
    const schema = { [keyword]: [of('Cat'), of('Dog')] };
    const renamed = { [keyword]: [of('Kitten'), of('Dog')] };
    for (const direction of ['request', 'response'] as const) {
      const [old, now] = [
        contractOf(direction, schema, { Cat: cat, Dog: dog }),
        contractOf(direction, renamed, { Kitten: cat, Dog: dog }),
      ];
      expect(told(findingsBetween(old, now))).toEqual([]);
    }
  });
});

describe('subtypes', () => {
  const pet = (mapping?: Json): Json => ({
    ...object({ kind: text }),
    discriminator: { propertyName: 'kind', mapping },
  });
  const subtype = (fields: Json): Json => ({ allOf: [of('Pet'), { type: 'object', properties: fields }] });
  const found = (direction: Direction, old: Json, now: Json): string[] =>
    rulesAmong(findingsBetween(contractOf(direction, of('Pet'), old), contractOf(direction, of('Pet'), now)));

  it.each(['request', 'response'] as const)('of a %s may be renamed if the mapping follows', (direction) => {
    const [old, now] = [
      { Pet: pet({ c: 'Cat', d: 'Dog' }), Cat: subtype({ meow: text }), Dog: subtype({ bark: text }) },
      { Pet: pet({ c: 'Kitten', d: 'Dog' }), Dog: subtype({ bark: text }), Kitten: subtype({ meow: text }) },
    ];
    expect(found(direction, old, now)).toEqual([]);
    expect(found(direction, now, old)).toEqual([]);
  });

  it('are compared with the old target of their value', () => {
    const [old, now] = [
      { Pet: pet({ c: 'Cat' }), Cat: subtype({ meow: text, fur: text }) },
      { Pet: pet({ c: 'Kitten' }), Kitten: subtype({ meow: text }) },
    ];
    expect(found('response', old, now)).toEqual(['response-field-removed']);
  });

  it('are reported once if the value of one refers to another', () => {
    const subtypes = { Cat: subtype({ meow: text }), Dog: subtype({ bark: text }) };
    const [old, now] = [
      { ...subtypes, Pet: pet({ c: 'Cat', d: 'Dog' }) },
      { ...subtypes, Pet: pet({ c: 'Cat', d: 'Cat' }) },
    ];
    const onlyCats = (schemas: Json): Json => contractOf('response', of('Cat'), schemas);
    expect(rulesAmong(findingsBetween(onlyCats(old), onlyCats(now)))).toEqual([]);
    expect(rulesAmong(findingsBetween(onlyCats(now), onlyCats({ ...old, Pet: pet({ c: 'Dog', d: 'Cat' }) })))).toEqual([
      'structure-changed',
    ]);
  });

  it('are replaced if their names are the values', () => {
    const [old, now] = [
      { Pet: pet(), Cat: subtype({ meow: text }) },
      { Pet: pet(), Kitten: subtype({ meow: text }) },
    ];
    expect(found('request', old, now)).toEqual(['param-relaxed', 'structure-changed']);
    expect(found('response', old, now)).toEqual(['response-alternative-added', 'response-strengthened']);
  });
});

it('allows that one object with all values replaces the alternatives', () => {
  const alternative = (kind: string): Json => object({ kind: { const: kind } });
  const old = { schemas: { Cat: alternative('c'), Dog: alternative('d') }, mapping: mapped('Cat') };
  const now = contractOf('request', {
    ...object({ kind: { enum: ['c', 'd'] } }),
    discriminator: { propertyName: 'kind' },
  });
  expect(rulesAmong(findingsBetween(contract('request', 'oneOf', old), now))).toEqual(['structure-equivalent']);
});

describe('alternatives in files of the same name', () => {
  const component = (Pet: Json): string => JSON.stringify({ components: { schemas: { Pet } } });
  const files = {
    'cat/schema.json': JSON.stringify(cat),
    'dog/schema.json': JSON.stringify(dog),
    'cat/api.json': component(cat),
    'dog/api.json': component(dog),
  };
  const choice = (c: string, d: string): Json => ({
    oneOf: [{ $ref: c }, { $ref: d }],
    discriminator: { propertyName: 'kind', mapping: { c, d } },
  });
  const inFolders = choice('cat/schema.json', 'dog/schema.json');

  async function rulesBetween(direction: Direction, schemas: readonly Json[]): Promise<string[]> {
    const folder = temporaryFolder();
    const moved = { 'all/cat.json': files['cat/schema.json'], 'all/dog.json': files['dog/schema.json'] };
    write(folder, { ...files, ...moved, 'all/pet.json': JSON.stringify(choice('cat.json', 'dog.json')) });
    const opened = schemas.map(async (schema, index) => {
      write(folder, { [`${index}.json`]: JSON.stringify(contractOf(direction, schema)) });
      return open(`${index}.json`, folder);
    });
    const [old, now] = (await Promise.all(opened)) as [Documents, Documents];
    return rulesAmong(findingsOf(compareContracts(old, now, defaultLevelOf)));
  }

  it.each(['request', 'response'] as const)('of a %s are told apart', async (direction) => {
    const swapped = { ...inFolders, discriminator: choice('dog/schema.json', 'cat/schema.json')['discriminator'] };
    expect(await rulesBetween(direction, [inFolders, swapped])).toEqual(['structure-changed', 'structure-changed']);
  });

  it.each(['request', 'response'] as const)(
    'of a %s are told apart, with the same name in two files',
    async (direction) => {
      const inFiles = (first: string, second: string): Json => {
        const refs = [first, second].map((file) => `${file}/api.json#/components/schemas/Pet`);
        const oneOf = ['cat', 'dog'].map((file) => ({ $ref: `${file}/api.json#/components/schemas/Pet` }));
        return { oneOf, discriminator: { propertyName: 'kind', mapping: { c: refs[0], d: refs[1] } } };
      };
      expect(await rulesBetween(direction, [inFiles('cat', 'dog'), inFiles('cat', 'dog')])).toEqual([]);
      const rules = await rulesBetween(direction, [inFiles('cat', 'dog'), inFiles('dog', 'cat')]);
      expect(rules).toEqual(['structure-changed', 'structure-changed']);
    },
  );

  it.each(['request', 'response'] as const)('of a %s may be moved to other files', async (direction) => {
    expect(await rulesBetween(direction, [inFolders, { $ref: 'all/pet.json' }])).toEqual([]);
  });
});

it.each(['mapped', 'named'])('compares thousands of newly %s alternatives in seconds', (how) => {
  const many = (prefix: string): Choice => {
    const names = Array.from({ length: 2000 }, (_unused, index) => `${prefix}${index}`);
    const mapping = Object.fromEntries(names.map((name, index) => [`value${index}`, name]));
    const schemas = Object.fromEntries(names.map((name, index) => [name, object({ kind: text, [`f${index}`]: text })]));
    return how === 'mapped' ? { schemas, mapping } : { schemas };
  };
  const before = process.threadCpuUsage();
  const rules = new Set(between('response', many('Old'), many('New')));
  expect([...rules]).toEqual(how === 'mapped' ? [] : ['response-strengthened', 'response-value-added']);
  expect(process.threadCpuUsage(before).user / 1000, 'ms of CPU').toBeLessThan(10_000);
});
