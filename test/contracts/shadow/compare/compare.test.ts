import { describe, expect, it } from 'vitest';
import type { ContractResponses } from '../../../../gateway/contracts/shadow/compare/responses.ts';
import { randomFrom } from '../../../support/random.ts';
import { assessed, contract, type JsonSchema, json, jsonResponse, pairOf } from '../pairs.ts';
import { seededDifferences } from '../seeded.ts';

const found = (
  [old, now]: readonly [JsonSchema | undefined, JsonSchema | undefined],
  [before, after]: readonly [unknown, unknown],
  control: readonly unknown[] = [],
) => {
  const controls = control.map((body) => pairOf(json(before), json(body), { kind: 'control' }));
  const pairs = Array.from({ length: 30 }, () => pairOf(json(before), json(after)));
  return assessed(contract(old), contract(now), [...pairs, ...controls]);
};

describe('the comparison of responses', () => {
  it('is checked with at least sixty differences', () => {
    expect(seededDifferences.length).toBeGreaterThanOrEqual(60);
  });

  it.each(seededDifferences.map((one) => [one.name, one] as const))('finds: %s', (_name, seeded) => {
    const [old, now] = [contract(seeded.old, seeded.options), contract(seeded.new, seeded.newOptions)];
    const pairs = Array.from({ length: 40 }, (_one, index) =>
      pairOf(json(seeded.before(index)), json(seeded.after(index))),
    );
    const { alarms, declared } = assessed(old, now, pairs);
    const [found, other] = seeded.class === 'declared' ? [declared, alarms] : [alarms, declared];
    expect(found.join(', ')).toContain(seeded.at);
    // One cause is one difference; a new alternative of a choice may show in several fields.
    expect(other).toEqual([]);
    expect(found.length).toBeLessThanOrEqual(2);
  });

  it.each(seededDifferences.map((one) => [one.name, one] as const))(
    'finds nothing between equal bodies under one contract: %s',
    (_name, seeded) => {
      const old = contract(seeded.old, seeded.options);
      const pairs = Array.from({ length: 40 }, (_one, index) =>
        pairOf(json(seeded.before(index)), json(seeded.before(index))),
      );
      const { alarms, declared } = assessed(old, old, pairs);
      expect([...alarms, ...declared]).toEqual([]);
      // What the new contract does not allow is undeclared. Nothing has changed that it declares.
      expect(assessed(old, contract(seeded.new, seeded.newOptions), pairs).declared).toEqual([]);
    },
  );
});

describe('a new version that breaks its own contract', () => {
  const text = { type: 'string' };
  const object = (properties: Record<string, unknown>): JsonSchema => {
    return { type: 'object', properties, required: Object.keys(properties) };
  };
  const [one, two] = [{ a: 'x' }, { a: 1 }] as const;
  const dates = [
    { type: 'string', format: 'date-time' },
    { type: 'string', format: 'date' },
  ] as const;
  const instant = { a: '2026-01-01T00:00:00Z' };
  const fields = (old: unknown, now: unknown) => [object({ a: old }), object({ a: now })] as const;
  const equalBodies: readonly [string, readonly [JsonSchema | undefined, JsonSchema], unknown, string][] = [
    ['a new required field', [object({ a: text }), object({ a: text, currency: text })], one, '/currency required'],
    ['another type', fields({ type: 'number' }, text), two, '/a type number'],
    ['other values of an enum', fields({ enum: ['x'] }, { enum: ['X'] }), one, '/a enum'],
    ['another format', fields(...dates), instant, '/a format date'],
    ['null no longer allowed', fields({ type: ['string', 'null'] }, text), { a: null }, '/a null'],
    ['a closed object', [object({}), { type: 'object', additionalProperties: false }], one, '/a unlisted'],
    ['only the new version has a contract', [undefined, object({ a: text })], two, '/a type number'],
  ];

  it.each(equalBodies)('is found if it answers like the old one: %s', (_name, contracts, body, alarm) => {
    expect(found(contracts, [body, body]).alarms).toEqual([alarm]);
    // The old version answers itself with the same, and keeps its own contract.
    expect(found(contracts, [body, body], [body, body]).alarms).toEqual([alarm]);
  });

  it('is found if it sends neither the former nor the new name of a field', () => {
    const { alarms, declared } = found([object({ name: text }), object({ title: text })], [{ name: 'x' }, {}]);
    expect([alarms, declared]).toEqual([['/title required'], ['/name required']]);
  });

  it('is found from the first pair', () => {
    const contracts = [contract(object({ a: text })), contract(object({ a: text, b: text }))] as const;
    expect(assessed(...contracts, [pairOf(json(one), json(one))]).alarms).toEqual(['/b required']);
  });

  it('is not found where the old version breaks its contract by the same rule, now or in a control', () => {
    expect(found(fields(text, text), [two, two]).alarms).toEqual([]);
    expect(found(fields(text, { type: 'string', minLength: 1 }), [two, two]).alarms).toEqual([]);
    const closed = { type: 'object', additionalProperties: false };
    expect(found([closed, closed], [one, one]).alarms).toEqual([]);
    const both = [contract(object({ a: text })), contract(object({ a: text }))] as const;
    const control = pairOf(json(one), json(two), { kind: 'control' });
    expect(assessed(...both, [pairOf(json(one), json(two)), control]).alarms).toEqual([]);
  });

  it('is found where the old version breaks its contract by another rule', () => {
    expect(found(fields(text, { type: 'number', minimum: 5 }), [two, two]).alarms).toEqual(['/a minimum']);
  });

  it('is found if the old version breaks its contract by the same rule once', () => {
    const bodies = [object({ a: { enum: ['x'] } }), object({ a: { enum: ['X'] } })] as const;
    const pairs = Array.from({ length: 30 }, (_one, index) => pairOf(json({ a: index === 3 ? 'y' : 'x' }), json(one)));
    expect(assessed(contract(bodies[0]), contract(bodies[1]), pairs).alarms).toEqual(['/a enum']);
    // Too few pairs show that the new version does it more often.
    const few = assessed(contract(bodies[0]), contract(bodies[1]), pairs.slice(0, 19)).differences;
    expect(few).toMatchObject([{ class: 'no evidence', count: 18, pairs: 19 }]);
  });

  it('is found if the old version breaks its contract in one item of each list', () => {
    const list = { type: 'array', items: object({ a: { enum: ['x'] } }) } as const;
    const items = (bad: number) => json(Array.from({ length: 50 }, (_one, index) => ({ a: index < bad ? 'y' : 'x' })));
    const pairs = (bad: number) => Array.from({ length: 30 }, () => pairOf(items(1), items(bad)));
    expect(assessed(contract(list), contract(list), pairs(50)).alarms).toEqual(['/*/a enum']);
    expect(assessed(contract(list), contract(list), pairs(1)).alarms).toEqual([]);
  });

  it('is not found if it breaks its contract as often, in longer lists', () => {
    const list = { type: 'array', items: object({ a: { enum: ['x'] } }) } as const;
    const random = randomFrom(3);
    const items = (length: number) => json(Array.from({ length }, () => ({ a: random() < 0.03 ? 'y' : 'x' })));
    const pairs = Array.from({ length: 300 }, () => pairOf(items(5), items(50)));
    expect(assessed(contract(list), contract(list), pairs).alarms).toEqual([]);
  });
});

describe('a contract that says nothing about the fields of an object', () => {
  const order = [{ id: 1, price: 2 }, { id: 1 }] as const;
  const mixed = [
    { id: 1, name: 'x' },
    { id: '1', name: 7 },
  ] as const;

  it.each([
    ['{}', {}],
    ['true', true],
    ['an object', { type: 'object' }],
    ['additionalProperties', { type: 'object', additionalProperties: true }],
  ])('hides neither a missing field nor other types: %s', (_name, schema) => {
    expect(found([schema, schema], order).alarms).toEqual(['/price absent']);
    expect(found([schema, schema], mixed).alarms).toEqual(['/id type number → string', '/name type string → number']);
    const list = { type: 'array', items: schema } as const;
    expect(found([list, list], [[order[0]], [order[1]]]).alarms).toEqual(['/*/price absent']);
  });

  it('makes no difference of random keys', () => {
    const random = randomFrom(5);
    const word = () => ['ann', 'bob', 'eve', 'joe', 'kim', 'lea', 'max'][Math.floor(random() * 7)] as string;
    const map = () => json({ [word()]: 1, [word()]: 'x' });
    const pairs = Array.from({ length: 500 }, () => pairOf(map(), map()));
    const free = contract({ type: 'object' });
    const { alarms, declared } = assessed(free, free, pairs);
    expect([...alarms, ...declared]).toEqual([]);
  });
});

describe('a discriminator', () => {
  const animal = (name: string) => ({
    type: 'object',
    required: ['t', name],
    properties: { t: { type: 'string' }, [name]: { type: 'string' } },
  });
  const schemas = { Cat: animal('purr'), Dog: animal('bark') };
  const oneOf = [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }];
  const choice = (mapping: object) =>
    contract({ oneOf, discriminator: { propertyName: 't', ...mapping } }, { schemas, openapi: '3.0.3' });
  const pairs = (t: string) =>
    Array.from({ length: 30 }, () => pairOf(json({ t: 'Cat', purr: 'x' }), json({ t, purr: 'x' })));
  const cat = { mapping: { cat: 'Cat' } };

  it('allows the names of the alternatives and of its mapping only', () => {
    const alarms = (contracts: ContractResponses, t: string) => assessed(contracts, contracts, pairs(t)).alarms;
    expect(alarms(choice(cat), 'cat')).toEqual([]);
    expect(alarms(choice(cat), 'Dog')).toEqual([]);
    expect(alarms(choice(cat), 'lizard')).toEqual(['/t enum']);
    expect(alarms(choice({}), 'lizard')).toEqual(['/t enum']);
    expect(alarms(choice({ defaultMapping: 'Cat' }), 'lizard')).toEqual([]);
  });
});

describe('a new version that requires another parameter', () => {
  const responses = { 200: jsonResponse(true), 400: jsonResponse(true) };
  const base = (required: boolean) => ({ name: 'base', in: 'query', required, schema: { type: 'string' } });
  const withParameters = (...parameters: object[]) => contract(true, { responses, parameters });
  const refused = (before: ContractResponses, after: ContractResponses, status = 400) => {
    const pairs = Array.from({ length: 30 }, () => pairOf(json({}), json({}, status)));
    const { alarms, declared } = assessed(before, after, pairs);
    return { alarms, declared };
  };

  it('declares that it refuses requests without it', () => {
    const isDeclared = { alarms: [], declared: ['status 200 → 400'] };
    expect(refused(withParameters(), withParameters(base(true)))).toEqual(isDeclared);
    expect(refused(withParameters(base(false)), withParameters(base(true)))).toEqual(isDeclared);
  });

  it.each([
    ['the old version requires it as well', withParameters(base(true)), withParameters(base(true)), 400],
    ['the parameter is not required', withParameters(), withParameters(base(false)), 400],
    ['the contract does not list the status', withParameters(), withParameters(base(true)), 422],
  ])('declares nothing if %s', (_name, before, after, status) => {
    expect(refused(before, after, status)).toEqual({ alarms: [`status 200 → ${status}`], declared: [] });
  });
});
