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

const [inBody, inAnswer] = (['request', 'response'] as const).map(
  (direction) => (schema: unknown) => contractOf(direction, schema),
);
const inQuery = (schema: unknown): Json => contractWithParameter({ schema });

it.each([
  ['whole numbers', whole, { oneOf: [whole, text] }],
  ['whole numbers, in another order', whole, { oneOf: [text, whole] }],
  ['numbers', amount, { oneOf: [amount, text] }],
  ['truth values', { type: 'boolean' }, { oneOf: [{ type: 'boolean' }, text] }],
  ['texts', text, { oneOf: [text, whole] }],
])('a query of %s may widen by oneOf', (_what, old, now) => {
  expect(errors(inQuery(old), inQuery(now))).toEqual([]);
});

describe('oneOf of a request', () => {
  it.each([
    ['texts, and short ones', { oneOf: [text] }, { oneOf: [text, short] }],
    ['the same of a plain type', text, { oneOf: [text, short] }],
    ['short texts, and all', { oneOf: [short, whole] }, { oneOf: [short, whole, text] }],
    ['whole numbers, and numbers', { oneOf: [whole, text] }, { oneOf: [whole, amount, text] }],
    ['texts, and two of them', { oneOf: [text, whole] }, { oneOf: [text, whole, values('a', 'b')] }],
    ['the same twice', { oneOf: [text, whole] }, { oneOf: [text, whole, text] }],
  ])('refuses what now fulfils two: %s', (_what, old, now) => {
    expect(errors(inBody?.(old) ?? {}, inBody?.(now) ?? {})).toEqual(['structure-changed']);
  });

  const kinds = [{ oneOf: [text, whole] }, { oneOf: [text, whole, short] }] as const;
  const told = { discriminator: { propertyName: 'kind' } };

  it.each([
    ['of different types', { oneOf: [text, whole] }, { oneOf: [text, whole, { type: 'boolean' }] }],
    ['of other values', { oneOf: [values('a'), whole] }, { oneOf: [values('a'), whole, values('b')] }],
    ['of other lengths', { oneOf: [short, whole] }, { oneOf: [short, whole, { ...text, minLength: 6 }] }],
    [
      'of lengths that came with them',
      { oneOf: [short, whole] },
      { oneOf: [{ ...text, maxLength: 9 }, whole, { ...text, minLength: 7, maxLength: 9 }] },
    ],
    ['of which nothing was taken', { oneOf: [whole, amount] }, { oneOf: [whole, amount, { ...whole, maximum: 5 }] }],
    ['told apart by a field', { ...kinds[0], ...told }, { ...kinds[1], ...told }],
    ['of anyOf', { anyOf: [text, whole] }, { anyOf: [text, whole, short] }],
  ])('takes more alternatives: %s', (_what, old, now) => {
    expect(errors(inBody?.(old) ?? {}, inBody?.(now) ?? {})).toEqual([]);
  });

  it('is not read so in a query, where numbers are texts, nor in an answer', () => {
    const [old, now] = [{ oneOf: [text, whole] }, { oneOf: [text, whole, short] }];
    expect(errors(inQuery(old), inQuery(now))).toEqual([]);
    expect(errors(inAnswer?.(old) ?? {}, inAnswer?.(now) ?? {})).toEqual([]);
  });
});
