import { describe, expect, it } from 'vitest';
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
  describe.each(['request', 'response'] as const)('of a %s: nothing differs for who reads or sends it', (direction) => {
    it.each<[what: string, old: Choice, now: Choice]>([
      [
        'a schema gets another name, and the mapping follows',
        { schemas: { Cat: cat, Dog: dog }, mapping: mapped('Cat') },
        { schemas: { Dog: dog, Kitten: cat }, mapping: mapped('Kitten') },
      ],
      [
        'all of them do, and what fits one fits the others as well',
        { schemas: { Cat: cat, Dog: cat, Bird: object({ kind: text }) }, mapping: { c: 'Cat', d: 'Dog', b: 'Bird' } },
        { schemas: { B: object({ kind: text }), D: cat, C: cat }, mapping: { b: 'B', d: 'D', c: 'C' } },
      ],
      [
        'the mapping keeps the value that the old name was',
        { schemas: { Cat: cat, Dog: dog } },
        { schemas: { Kitten: cat, Dog: dog }, mapping: { Cat: 'Kitten' } },
      ],
      [
        'the names are written out',
        { schemas: { Cat: cat, Dog: dog } },
        { schemas: { Cat: cat, Dog: dog }, mapping: { Cat: of('Cat')['$ref'], Dog: 'Dog' } },
      ],
      [
        'the fields say themselves what is sent',
        { schemas: { Cat: object({ kind: { const: 'cat' } }), Dog: dog } },
        { schemas: { Kitten: object({ kind: { const: 'cat' } }), Dog: dog } },
      ],
      [
        'a schema is written out where it is used',
        { schemas: { Cat: cat, Dog: dog } },
        { schemas: { Dog: dog }, alternatives: [cat, of('Dog')] },
      ],
      [
        'a copy is what the value leads to',
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
      'a name that stands for itself is another one',
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
      'what the value leads to has another name and a field less',
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
  ])('%s', (_what, old, now, request, response) => {
    expect(between('request', old, now, keyword)).toEqual(request);
    expect(between('response', old, now, keyword)).toEqual(response);
  });

  it('says nothing of names where nothing is told apart by them', () => {
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

describe('heirs', () => {
  const pet = (mapping?: Json): Json => ({
    ...object({ kind: text }),
    discriminator: { propertyName: 'kind', mapping },
  });
  const heir = (fields: Json): Json => ({ allOf: [of('Pet'), { type: 'object', properties: fields }] });
  const found = (direction: Direction, old: Json, now: Json): string[] =>
    rulesAmong(findingsBetween(contractOf(direction, of('Pet'), old), contractOf(direction, of('Pet'), now)));

  it.each(['request', 'response'] as const)(
    'of a %s may have another name where a mapping leads to them',
    (direction) => {
      const [old, now] = [
        { Pet: pet({ c: 'Cat', d: 'Dog' }), Cat: heir({ meow: text }), Dog: heir({ bark: text }) },
        { Pet: pet({ c: 'Kitten', d: 'Dog' }), Dog: heir({ bark: text }), Kitten: heir({ meow: text }) },
      ];
      expect(found(direction, old, now)).toEqual([]);
      expect(found(direction, now, old)).toEqual([]);
    },
  );

  it('are compared with what their value led to', () => {
    const [old, now] = [
      { Pet: pet({ c: 'Cat' }), Cat: heir({ meow: text, fur: text }) },
      { Pet: pet({ c: 'Kitten' }), Kitten: heir({ meow: text }) },
    ];
    expect(found('response', old, now)).toEqual(['response-field-removed']);
  });

  it('are told of once where the value of one leads to another', () => {
    const heirs = { Cat: heir({ meow: text }), Dog: heir({ bark: text }) };
    const [old, now] = [
      { ...heirs, Pet: pet({ c: 'Cat', d: 'Dog' }) },
      { ...heirs, Pet: pet({ c: 'Cat', d: 'Cat' }) },
    ];
    const onlyCats = (schemas: Json): Json => contractOf('response', of('Cat'), schemas);
    expect(rulesAmong(findingsBetween(onlyCats(old), onlyCats(now)))).toEqual([]);
    expect(rulesAmong(findingsBetween(onlyCats(now), onlyCats({ ...old, Pet: pet({ c: 'Dog', d: 'Cat' }) })))).toEqual([
      'structure-changed',
    ]);
  });

  it('are others where their names are the values', () => {
    const [old, now] = [
      { Pet: pet(), Cat: heir({ meow: text }) },
      { Pet: pet(), Kitten: heir({ meow: text }) },
    ];
    expect(found('request', old, now)).toEqual(['param-relaxed', 'structure-changed']);
    expect(found('response', old, now)).toEqual(['response-alternative-added', 'response-strengthened']);
  });
});

it.each(['mapped', 'named'])('is done with many that are %s anew in a moment', (how) => {
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
