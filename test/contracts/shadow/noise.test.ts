import { describe, expect, it } from 'vitest';
import type { ResponsePair } from '../../../gateway/contracts/shadow/compare/sample.ts';
import { randomFrom } from '../../support/random.ts';
import { assessed, contract, json, pairOf, raw } from './pairs.ts';

const text = { type: 'string' };
const drink = {
  type: 'object',
  required: ['id', 'name'],
  properties: {
    id: { type: 'integer' },
    name: text,
    glass: text,
    price: { type: ['string', 'null'] },
    garnish: { type: ['string', 'number'] },
    tags: { type: 'array', items: text },
    maker: { type: 'object', properties: { name: text, city: text } },
    stock: { type: 'object', additionalProperties: { type: 'integer' } },
  },
};
const page = {
  type: 'object',
  required: ['items'],
  properties: { items: { type: 'array', items: drink }, next: text },
};

/** A body in which each optional field is missing with a probability of 20 %. It also has fields that no contract lists. */
function randomPage(random: () => number, index: number): unknown {
  const some = <Value>(value: Value): Value | undefined => (random() < 0.2 ? undefined : value);
  const drinks = Array.from({ length: 1 + Math.floor(random() * 3) }, (_one, position) => ({
    id: index * 10 + position,
    name: `Drink ${random()}`,
    glass: some('coupe'),
    price: some(random() < 0.2 ? null : '9.50'),
    garnish: some(random() < 0.2 ? 1 : 'lemon'),
    tags: some(random() < 0.2 ? [] : ['sour', 'gin']),
    maker: some({ name: some('x'), city: some('y') }),
    stock: some({ [`shop-${Math.floor(random() * 1e6)}`]: 3 }),
    internal: some({ score: random(), [`k${Math.floor(random() * 1e9)}`]: 1, note: some('x') }),
  }));
  return { items: random() < 0.05 ? [] : drinks, next: some('/drinks?cursor=7') };
}

function* pairs(count: number, seed: number, control = 0): Iterable<ResponsePair> {
  const random = randomFrom(seed);
  for (let index = 0; index < count; index += 1) {
    const make = () => json(randomPage(random, index));
    yield pairOf(make(), make(), { at: index });
    if (random() < control) yield pairOf(make(), make(), { kind: 'control', at: index });
  }
}

describe('responses of the same version', () => {
  it.each([1])('raise no alarm in 1,000 pairs with optional fields that vary (seed %i)', (seed) => {
    for (const contracts of [
      [contract(page), contract(page)],
      [contract(undefined), contract(undefined)],
      [contract(true), contract(page)],
    ] as const) {
      const { alarms, declared, compared, differences } = assessed(...contracts, pairs(1_000, seed));
      expect(alarms).toEqual([]);
      expect(declared).toEqual([]);
      expect(compared).toBe(1_000);
      expect(differences.filter((one) => one.class === 'noise').map(({ path }) => path)).toContain('/items/*/glass');
    }
  });

  it.each([5, 19, 20, 21, 50, 200])('raise no alarm in %i pairs', (count) => {
    for (let seed = 0; seed < 5; seed += 1)
      expect(assessed(contract(page), contract(page), pairs(count, seed)).alarms).toEqual([]);
  });

  it('raise no alarm if they are errors or answer with another status at random', () => {
    const random = randomFrom(7);
    const some = Array.from({ length: 1_000 }, () => {
      const one = () =>
        random() < 0.1 ? json({ title: 'x' }, random() < 0.5 ? 404 : 500) : json(randomPage(random, 1));
      return pairOf(one(), one());
    });
    expect(assessed(contract(page), contract(page), some).alarms).toEqual([]);
  });

  it('raise no alarm if they violate their contract at random', () => {
    const random = randomFrom(8);
    const bad = () => json({ items: [{ id: random() < 0.3 ? 'x' : 1, name: random() < 0.3 ? null : 'n' }] });
    const some = Array.from({ length: 1_000 }, () => pairOf(bad(), bad()));
    expect(assessed(contract(page), contract(page), some).alarms).toEqual([]);
  });

  it('raise no alarm if lists have another length', () => {
    const random = randomFrom(9);
    const list = (length: number) =>
      json({
        items: Array.from({ length }, () =>
          random() < 0.02 ? { id: 1, name: 'x' } : { id: 1, name: 'x', glass: 'y' },
        ),
      });
    const some = Array.from({ length: 1_000 }, () => pairOf(list(100), list(10)));
    expect(assessed(contract(page), contract(page), some).alarms).toEqual([]);
  });
});

describe('noise', () => {
  const one = { id: 1, name: 'x', glass: 'y' };

  it('is what the version shows against itself in the same direction', () => {
    const some = Array.from({ length: 100 }, (_one, index) => [
      pairOf(json({ items: [one] }), json({ items: [{ id: 1, name: 'x' }] })),
      ...(index % 4 === 0
        ? [pairOf(json({ items: [one] }), json({ items: [{ id: 1, name: 'x' }] }), { kind: 'control' })]
        : []),
    ]).flat();
    const { alarms, differences, control } = assessed(contract(page), contract(page), some);
    expect(alarms).toEqual([]);
    expect(control).toBe(25);
    expect(differences).toMatchObject([{ path: '/items/*/glass', class: 'noise', count: 100, pairs: 100 }]);
  });

  it('does not hide what the version does not show against itself', () => {
    const some = Array.from({ length: 100 }, (_one, index) => [
      pairOf(json({ items: [one] }), json({ items: [{ id: 1, name: 'x' }] })),
      ...(index % 4 === 0 ? [pairOf(json({ items: [one] }), json({ items: [one] }), { kind: 'control' })] : []),
    ]).flat();
    expect(assessed(contract(page), contract(page), some).alarms).toEqual(['/items/*/glass absent']);
  });
});

describe('evidence', () => {
  it('needs twenty pairs for a presence that differs, and one for a violation of the new contract', () => {
    const lost = (count: number) =>
      Array.from({ length: count }, () =>
        pairOf(json({ items: [{ id: 1, name: 'x', glass: 'y' }] }), json({ items: [{ id: 1, name: 'x' }] })),
      );
    expect(assessed(contract(page), contract(page), lost(19)).differences).toMatchObject([{ class: 'no evidence' }]);
    expect(assessed(contract(page), contract(page), lost(20)).differences).toMatchObject([{ class: 'undeclared' }]);
    const invalid = [pairOf(json({ items: [{ id: 1, name: 'x' }] }), json({ items: [{ id: 1 }] }))];
    expect(assessed(contract(page), contract(page), invalid).alarms).toEqual(['/items/*/name required']);
  });

  it('lists the fields that were never compared, and why', () => {
    const bodies = { items: [{ id: 1, name: 'x', price: null, tags: [] }] };
    const { unseen } = assessed(
      contract(page),
      contract(page),
      Array.from({ length: 30 }, () => pairOf(json(bodies), json(bodies))),
    );
    expect(unseen).toEqual([
      { status: 200, path: '/items/*/garnish', why: 'never sent' },
      { status: 200, path: '/items/*/glass', why: 'never sent' },
      { status: 200, path: '/items/*/maker', why: 'never sent' },
      { status: 200, path: '/items/*/price', why: 'always null' },
      { status: 200, path: '/items/*/stock', why: 'never sent' },
      { status: 200, path: '/items/*/tags/*', why: 'always empty' },
      { status: 200, path: '/next', why: 'never sent' },
    ]);
  });

  it('does not take a refusal without credentials as a difference', () => {
    const some = Array.from({ length: 50 }, () =>
      pairOf(json({ items: [] }), json({}, 401), { copyLacksCredentials: true }),
    );
    const { alarms, skipped, compared } = assessed(contract(page), contract(page), some);
    expect([alarms, skipped, compared]).toEqual([[], [{ reason: 'refused', pairs: 50 }], 0]);
    const passed = some.map((pair) => ({ ...pair, copyLacksCredentials: false }));
    expect(assessed(contract(page), contract(page), passed).alarms).toEqual(['status 200 → 401']);
  });

  it('says nothing about bodies that are not JSON', () => {
    const some = Array.from({ length: 50 }, () => pairOf(raw('<p>', 200, 'text/html'), raw('<b>', 200, 'text/html')));
    expect(assessed(contract(page), contract(page), some)).toMatchObject({
      alarms: [],
      compared: 0,
      skipped: [{ reason: 'not JSON', pairs: 50 }],
    });
  });
});

describe('a status or a media type', () => {
  const times = (count: number, pair: ResponsePair): ResponsePair[] => Array.from({ length: count }, () => pair);
  const both = (old: number, now: number) => times(50, pairOf(json({ items: [] }, old), json({ items: [] }, now)));
  const listing = (...statuses: number[]) =>
    contract(page, {
      responses: Object.fromEntries(
        statuses.map((one) => [one, { description: '', content: { 'application/json': { schema: page } } }]),
      ),
    });

  it('is declared if only one of the contracts lists it', () => {
    expect(assessed(listing(200), listing(200, 404), both(200, 404)).declared).toEqual(['status 200 → 404']);
    expect(assessed(listing(200), listing(201), both(200, 201)).declared).toEqual(['status 200 → 201']);
  });

  it('is undeclared if both list both, or the new contract does not list it', () => {
    expect(assessed(listing(200, 404), listing(200, 404), both(200, 404)).alarms).toEqual(['status 200 → 404']);
    expect(assessed(listing(200), listing(200), both(200, 500)).alarms).toEqual(['status 200 → 500']);
  });

  it('is declared if the new contract does not have the route', () => {
    const some = both(200, 404).map((pair) => ({ ...pair, toTemplate: undefined }));
    expect(assessed(listing(200), listing(200), some).declared).toEqual(['status 200 → 404']);
  });

  it('is undeclared if the new version sends HTML, or an empty body', () => {
    const html = times(50, pairOf(json({ items: [] }), raw('<p>', 200, 'text/html')));
    expect(assessed(contract(page), contract(page), html).alarms).toEqual(['media application/json → text/html']);
    const empty = times(50, pairOf(json({ items: [] }), raw('')));
    expect(assessed(contract(page), contract(page), empty).alarms).toEqual(['syntax']);
  });

  it('compares the bodies of two different successes, and of equal errors', () => {
    const created = times(30, pairOf(json({ items: [] }, 200), json({ items: 'x' }, 201)));
    expect(assessed(listing(200), listing(201), created).alarms).toEqual(['/items type array → string']);
    const errors = times(30, pairOf(json({ items: [] }, 404), json({ items: 1 }, 404)));
    expect(assessed(listing(404), listing(404), errors).alarms).toEqual(['/items type array → number']);
  });
});
