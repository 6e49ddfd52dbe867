import { describe, expect, it } from 'vitest';
import { contractOf, contractWithParameter, findingsBetween, type Json } from '../support/comparing.ts';

const [text, whole, amount] = ['string', 'integer', 'number'].map((type) => ({ type }));
const short = { ...text, maxLength: 5 };
const values = (...list: unknown[]): Json => ({ type: 'string', enum: list });

function errors(old: Json, now: Json): string[] {
  return findingsBetween(old, now)
    .filter(({ level }) => level === 'error')
    .map(({ rule }) => rule);
}

const [inBody, inResponse] = (['request', 'response'] as const).map(
  (direction) => (schema: unknown) => contractOf(direction, schema),
);
const inQuery = (schema: unknown): Json => contractWithParameter({ schema });

it.each([
  ['integers', whole, { oneOf: [whole, text] }],
  ['integers, in another order', whole, { oneOf: [text, whole] }],
  ['numbers', amount, { oneOf: [amount, text] }],
  ['booleans', { type: 'boolean' }, { oneOf: [{ type: 'boolean' }, text] }],
  ['strings', text, { oneOf: [text, whole] }],
])('a query parameter of %s may be widened by oneOf', (_what, old, now) => {
  expect(errors(inQuery(old), inQuery(now))).toEqual([]);
});

describe('oneOf of a request', () => {
  it.each([
    ['a string and a short one', { oneOf: [text] }, { oneOf: [text, short] }],
    ['a short string in addition to a plain type', text, { oneOf: [text, short] }],
    ['a short string and any string', { oneOf: [short, whole] }, { oneOf: [short, whole, text] }],
    ['an integer and a number', { oneOf: [whole, text] }, { oneOf: [whole, amount, text] }],
    ['a string and an enum', { oneOf: [text, whole] }, { oneOf: [text, whole, values('a', 'b')] }],
    ['the same twice', { oneOf: [text, whole] }, { oneOf: [text, whole, text] }],
    [
      'a string that was short, and a long one',
      { oneOf: [short, { ...text, minLength: 6 }] },
      { oneOf: [text, { ...text, minLength: 6 }] },
    ],
  ])('rejects values that now match two alternatives: %s', (_what, old, now) => {
    expect(errors(inBody?.(old) ?? {}, inBody?.(now) ?? {})).toEqual(['structure-changed']);
  });

  const kinds = [{ oneOf: [text, whole] }, { oneOf: [text, whole, short] }] as const;
  const told = { discriminator: { propertyName: 'kind' } };

  it.each([
    ['of different types', { oneOf: [text, whole] }, { oneOf: [text, whole, { type: 'boolean' }] }],
    ['of other values', { oneOf: [values('a'), whole] }, { oneOf: [values('a'), whole, values('b')] }],
    ['of other lengths', { oneOf: [short, whole] }, { oneOf: [short, whole, { ...text, minLength: 6 }] }],
    [
      'of lengths that are new as well',
      { oneOf: [short, whole] },
      { oneOf: [{ ...text, maxLength: 9 }, whole, { ...text, minLength: 7, maxLength: 9 }] },
    ],
    [
      'within values that matched two before',
      { oneOf: [whole, amount] },
      { oneOf: [whole, amount, { ...whole, maximum: 5 }] },
    ],
    ['with a discriminator', { ...kinds[0], ...told }, { ...kinds[1], ...told }],
    ['of anyOf', { anyOf: [text, whole] }, { anyOf: [text, whole, short] }],
  ])('allows more alternatives: %s', (_what, old, now) => {
    expect(errors(inBody?.(old) ?? {}, inBody?.(now) ?? {})).toEqual([]);
  });

  it('has no overlap in a query, where numbers are sent as text, nor in a response', () => {
    const [old, now] = [{ oneOf: [text, whole] }, { oneOf: [text, whole, short] }];
    expect(errors(inQuery(old), inQuery(now))).toEqual([]);
    expect(errors(inResponse?.(old) ?? {}, inResponse?.(now) ?? {})).toEqual([]);
  });
});

it('a value of two alternatives is valid in anyOf, and no longer in oneOf', () => {
  const old = values('a', 'b');
  const lists = [values('a', 'b'), values('b', 'c')];
  expect(errors(inBody?.(old) ?? {}, inBody?.({ oneOf: lists }) ?? {})).toEqual(['filter-value-removed']);
  expect(errors(inBody?.(old) ?? {}, inBody?.({ anyOf: lists }) ?? {})).toEqual([]);
});

describe('an alternative that rejects every value', () => {
  const never = { not: {} };
  const nothing = { type: 'null' };

  it.each([
    ['false', { anyOf: [text, false] }, { anyOf: [text] }],
    ['`not: {}`', { anyOf: [text, whole, never] }, { anyOf: [text, whole] }],
    ['false, beside null', { anyOf: [text, nothing, false] }, { anyOf: [text, nothing] }],
    ['all of them', { anyOf: [false, never] }, false],
  ])('has no effect: %s', (_what, one, other) => {
    for (const inPlace of [inBody, inResponse]) {
      expect(errors(inPlace?.(one) ?? {}, inPlace?.(other) ?? {})).toEqual([]);
      expect(errors(inPlace?.(other) ?? {}, inPlace?.(one) ?? {})).toEqual([]);
    }
  });

  it('leaves only null if every other alternative is null', () => {
    for (const only of [{ anyOf: [nothing] }, { oneOf: [nothing, false] }, { anyOf: [nothing, nothing, nothing] }]) {
      expect(errors(inBody?.({}) ?? {}, inBody?.(only) ?? {})).toEqual(['request-type-changed']);
      expect(errors(inResponse?.(only) ?? {}, inResponse?.({}) ?? {})).toEqual(['response-type-changed']);
      expect(errors(inBody?.(nothing) ?? {}, inBody?.(only) ?? {})).toEqual([]);
      expect(errors(inResponse?.(only) ?? {}, inResponse?.(nothing) ?? {})).toEqual([]);
    }
  });

  it('does not hide the only alternative beside null', () => {
    const old = { anyOf: [nothing, whole, { const: null }] };
    expect(errors(inResponse?.(old) ?? {}, inResponse?.({}) ?? {})).toEqual(['response-type-changed']);
  });

  it('does not reject null for the other alternatives', () => {
    const now = { oneOf: [{ ...whole, not: { const: null } }, nothing] };
    expect(errors(inResponse?.(whole) ?? {}, inResponse?.(now) ?? {})).toEqual(['response-field-weakened']);
  });

  it('does not hide that a response may now be null', () => {
    const [old, now] = [{ anyOf: [text, false] }, { anyOf: [text, nothing] }];
    expect(errors(inResponse?.(old) ?? {}, inResponse?.(now) ?? {})).toEqual(['response-field-weakened']);
    expect(errors(inBody?.(now) ?? {}, inBody?.(old) ?? {})).toEqual(['request-constraint-tightened']);
  });
});

describe('a type beside a choice of limits', () => {
  const limits = { anyOf: [{ pattern: '^a' }, { maxLength: 5 }] };
  const typed = { ...text, ...limits };

  it('restricts the choice, and a response without it accepts more', () => {
    expect(errors(inBody?.(limits) ?? {}, inBody?.(typed) ?? {})).toEqual(['request-type-changed']);
    expect(errors(inResponse?.(typed) ?? {}, inResponse?.(limits) ?? {})).toEqual(['response-type-changed']);
    expect(errors(inBody?.(typed) ?? {}, inBody?.(limits) ?? {})).toEqual([]);
    expect(errors(inResponse?.(limits) ?? {}, inResponse?.(typed) ?? {})).toEqual([]);
  });

  it('is not a change if every alternative has it', () => {
    const inside = { anyOf: limits.anyOf.map((one) => ({ ...text, ...one })) };
    expect(errors(inBody?.(inside) ?? {}, inBody?.(typed) ?? {})).toEqual([]);
    expect(errors(inResponse?.(typed) ?? {}, inResponse?.(inside) ?? {})).toEqual([]);
  });
});

describe('a choice that is written without one, or the reverse', () => {
  const levels = (old: unknown, now: unknown): string[] =>
    findingsBetween(inResponse?.(old) ?? {}, inResponse?.(now) ?? {}).map(({ level, rule }) => `${level} ${rule}`);
  const added = 'warn response-value-added';

  const list = { type: 'array' };

  it.each<[what: string, old: unknown, now: unknown]>([
    ['a list of values became any string', { oneOf: [whole, values('none')] }, text],
    ['a limit is gone', { anyOf: [short, whole] }, text],
    [
      'a limit is gone from an array',
      { type: 'array', maxItems: 3 },
      { oneOf: [list, { ...list, uniqueItems: true }] },
    ],
  ])('does not hide that clients may get new values: %s', (_what, old, now) => {
    expect(levels(old, now)).toContain(added);
  });

  it('is the same if no value is new', () => {
    expect(levels({ oneOf: [whole, short] }, short)).toEqual(['info structure-equivalent']);
  });
});
