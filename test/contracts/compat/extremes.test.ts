import { describe, expect, it } from 'vitest';
import { CompareError } from '../../../gateway/contract/failure.ts';
import { compareContracts } from '../../../gateway/contracts/compat/diff/contracts.ts';
import { type Finding, findingsOf } from '../../../gateway/contracts/compat/judge/findings.ts';
import { defaultLevelOf } from '../../../gateway/contracts/compat/rules/rules.ts';
import { contractOf, documentsOf, type Json, rulesAmong } from './support/comparing.ts';

// Many times the usual duration, for busy machines: it distinguishes seconds from minutes.
const maxCpuMs = 10_000;

function comparedOnce(old: unknown, now: unknown): readonly Finding[] {
  return findingsOf(compareContracts(documentsOf(old), documentsOf(now), defaultLevelOf));
}

/** The findings. Fails if the comparison takes too long. */
function quickly(old: unknown, now: unknown): readonly Finding[] {
  const before = process.cpuUsage();
  try {
    return comparedOnce(old, now);
  } finally {
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(maxCpuMs);
  }
}

function nested(depth: number, wrap: (inner: Json) => Json, innermost: Json): Json {
  let schema = innermost;
  for (let level = 0; level < depth; level += 1) schema = wrap(schema);
  return schema;
}

const inObject = (inner: Json): Json => ({ type: 'object', properties: { a: inner } });
const inArray = (inner: Json): Json => ({ type: 'array', items: inner });
const [text, whole] = [{ type: 'string' }, { type: 'integer' }];
const counted = (count: number, make: (index: number) => unknown): unknown[] =>
  Array.from({ length: count }, (_unused, index) => make(index));

describe('deep nesting', () => {
  it.each([
    ['objects', inObject],
    ['arrays', inArray],
  ])('%s, 150 of them, are compared to the end', (_what, wrap) => {
    const [old, now] = [text, whole].map((innermost) => contractOf('response', nested(150, wrap, innermost)));
    expect(rulesAmong(quickly(old, now))).toEqual(['response-type-changed']);
  });

  it.each([
    ['objects', inObject],
    ['arrays', inArray],
    ['parts', (inner: Json) => ({ allOf: [inner] })],
    ['alternatives', (inner: Json) => ({ anyOf: [inner, { type: 'string' }] })],
  ])('%s, 5,000 of them, are compared or refused without a crash', (_what, wrap) => {
    const [old, now] = [text, whole].map((innermost) => contractOf('response', nested(5000, wrap, innermost)));
    const compare = (): unknown => quickly(old, now);
    let refused: unknown;
    try {
      expect(compare()).not.toEqual([]);
    } catch (error) {
      refused = error;
    }
    if (refused !== undefined) expect(refused).toBeInstanceOf(CompareError);
  });

  it('is accepted in an added part', () => {
    const old = contractOf('response', { type: 'object', properties: { b: text } });
    const now = contractOf('response', { type: 'object', properties: { b: text, a: nested(5000, inObject, text) } });
    try {
      expect(rulesAmong(quickly(old, now))).toEqual(['response-field-added']);
      expect(rulesAmong(quickly(now, old))).toEqual(['response-field-removed']);
    } catch (error) {
      expect(error).toBeInstanceOf(CompareError);
    }
  });

  it('is followed through 80 references, and refused beyond', () => {
    const chain = (length: number, last: Json): Json => ({
      ...Object.fromEntries(
        counted(length, (index) => [`S${index}`, { $ref: `#/components/schemas/S${Number(index) + 1}` }]) as [
          string,
          Json,
        ][],
      ),
      [`S${length}`]: last,
    });
    const start = { $ref: '#/components/schemas/S0' };
    const at = (length: number, last: Json): Json => contractOf('request', start, chain(length, last));
    expect(rulesAmong(quickly(at(80, text), at(80, whole)))).toEqual(['request-type-changed']);
    expect(() => quickly(at(2000, text), at(2000, whole))).toThrow(CompareError);
  });
});

describe('long contracts', () => {
  it('have 10,000 values, of which one was removed', () => {
    const values = counted(10_000, (index) => `value${index}`);
    const [old, now] = [values, values.slice(1)].map((list) => contractOf('request', { type: 'string', enum: list }));
    expect(rulesAmong(quickly(old, now))).toEqual(['filter-value-removed']);
  });

  it('have 10,000 changed alternatives', () => {
    const [old, now] = [text, whole].map((type) =>
      contractOf('request', {
        oneOf: counted(10_000, (index) => ({ type: 'object', properties: { [`field${index}`]: { ...type } } })),
      }),
    );
    const findings = quickly(old, now);
    expect(new Set(rulesAmong(findings))).toEqual(new Set(['request-type-changed']));
    expect(findings).toHaveLength(10_000);
  });

  it('have 10,000 alternatives instead of an object', () => {
    const many = { anyOf: counted(10_000, (index) => ({ type: 'object', properties: { [`field${index}`]: text } })) };
    const [old, now] = [contractOf('request', { type: 'object' }), contractOf('request', many)];
    expect(rulesAmong(quickly(old, now))).toEqual(['structure-changed']);
  });

  it('have 3,000 fields with another type', () => {
    const [old, now] = [text, whole].map((type) =>
      contractOf('response', {
        type: 'object',
        properties: Object.fromEntries(counted(3000, (index) => [`field${index}`, { ...type }]) as [string, Json][]),
      }),
    );
    expect(quickly(old, now)).toHaveLength(3000);
  });

  it('have 3,000 renamed fields', () => {
    const [old, now] = ['old', 'new'].map((prefix) =>
      contractOf('response', {
        type: 'object',
        properties: Object.fromEntries(counted(3000, (index) => [`${prefix}${index}`, text]) as [string, Json][]),
      }),
    );
    expect(quickly(old, now)).toHaveLength(6000);
  });
});

describe('a referenced schema', () => {
  it('is compared with 150,000 references', () => {
    const fields = counted(150_000, (index) => [`f${index}`, { $ref: '#/components/schemas/Name' }]) as [
      string,
      Json,
    ][];
    const [old, now] = [text, whole].map((name) =>
      contractOf('response', { type: 'object', properties: Object.fromEntries(fields) }, { Name: { ...name } }),
    );
    expect(rulesAmong(comparedOnce(old, now))).toEqual(['response-type-changed']);
  });

  it('is compared within choices that refer to each other in too many ways to try', () => {
    const choices = counted(9, (index) => [
      `S${index}`,
      {
        oneOf: [
          ...counted(9, (other) => ({ $ref: `#/components/schemas/S${other}` })),
          { $ref: '#/components/schemas/T' },
        ],
      },
    ]) as [string, Json][];
    const start = { oneOf: [{ $ref: '#/components/schemas/S0' }, { $ref: '#/components/schemas/S1' }] };
    const [old, now] = [text, whole].map((last) =>
      contractOf('request', start, { ...Object.fromEntries(choices), T: { ...last } }),
    );
    expect(rulesAmong(quickly(old, now))).toContain('request-type-changed');
  });
});

describe('a recursive schema', () => {
  const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
  const person = (fields: Json): Json => ({ type: 'object', properties: { pets: inArray(ref('Pet')), ...fields } });
  const pet = (fields: Json): Json => ({ type: 'object', properties: { owner: ref('Person'), ...fields } });

  it('is reported once if two schemas contain each other', () => {
    const old = contractOf('response', ref('Person'), { Person: person({ name: text }), Pet: pet({ age: whole }) });
    const now = contractOf('response', ref('Person'), { Person: person({ name: text }), Pet: pet({ age: text }) });
    expect(quickly(old, now).map(({ sentence }) => sentence)).toEqual([
      'GET /drinks: response 200 field `pets[].age` was an integer and is now a string',
    ]);
  });

  it('may be an alternative of itself', () => {
    const tree = (leaf: Json): Json => ({ Tree: { oneOf: [leaf, inArray(ref('Tree')), ref('Tree')] } });
    const old = contractOf('response', ref('Tree'), tree(text));
    expect(quickly(old, contractOf('response', ref('Tree'), tree(text)))).toEqual([]);
    expect(rulesAmong(quickly(old, contractOf('response', ref('Tree'), tree(whole))))).toContain(
      'response-type-changed',
    );
  });

  it('may be extended by one of its alternatives', () => {
    const alternatives = [
      { required: ['a'], properties: { b: ref('Extended') } },
      { contains: { minimum: 1 } },
      ref('Extended'),
    ];
    const schemas = (base: Json): Json => ({
      Base: { minItems: 2, dependentSchemas: { a: { properties: { c: ref('Other') } } }, ...base },
      Extended: { allOf: [ref('Base'), { type: 'array' }] },
      Other: { type: 'object', properties: { d: { type: 'integer', oneOf: [ref('Base'), { type: 'null' }] } } },
    });
    const [old, now] = [{ oneOf: alternatives }, {}].map((base) => contractOf('request', ref('Base'), schemas(base)));
    // The alternatives multiply without end unless equal ones are recognized. Each comparison of two of them is counted.
    let left = 10_000;
    const countedLevelOf: typeof defaultLevelOf = (change) => {
      left -= 1;
      if (left < 0) throw new Error('the comparison does not end');
      return defaultLevelOf(change);
    };
    for (const [before, after] of [
      [old, now],
      [now, old],
    ]) {
      expect(findingsOf(compareContracts(documentsOf(before), documentsOf(after), countedLevelOf))).not.toEqual([]);
    }
  });

  it('may be a part of itself', () => {
    const loop = (type: Json): Json => ({ Loop: { allOf: [ref('Loop'), type] } });
    const [old, now] = [text, whole].map((type) => contractOf('response', ref('Loop'), loop(type)));
    expect(rulesAmong(quickly(old, now))).toEqual(['response-type-changed']);
  });

  it('may be a callback of a callback', () => {
    const withCallback = (schema: Json): Json => ({
      ...contractOf('response', text),
      paths: { '/drinks': { $ref: '#/components/pathItems/Told' } },
      components: {
        pathItems: {
          Told: {
            post: {
              requestBody: { content: { 'application/json': { schema } } },
              responses: {},
              callbacks: { told: { '{$request.body#/url}': { $ref: '#/components/pathItems/Told' } } },
            },
          },
        },
      },
    });
    // What clients send to the API, the API sends to them: one is more than they know, the other more than it knows.
    expect(rulesAmong(quickly(withCallback(text), withCallback(whole)))).toEqual([
      'request-type-changed',
      'response-type-changed',
    ]);
  });
});
