import { describe, expect, it } from 'vitest';
import { below } from '../../../../gateway/contract/document/located.ts';
import { IdenticalSubtrees } from '../../../../gateway/contracts/compat/diff/identicalSubtrees.ts';
import { documentsOf, type Json } from '../support/comparing.ts';

const ref = (name: string): Json => ({ $ref: `#/${name}` });

/** Compares the values at a key of two contracts, which share no object. */
function areIdentical(key: string, old: Json, now: Json, version = '3.1.0'): boolean {
  const [before, after] = [
    documentsOf(structuredClone({ openapi: '3.1.0', ...old })),
    documentsOf(structuredClone({ openapi: version, ...now })),
  ];
  return new IdenticalSubtrees(before, after).areIdentical(below(before.root, key), below(after.root, key));
}

describe('two subtrees are identical', () => {
  it.each([
    ['with equal values', { a: { type: 'string', enum: ['x', null] } }],
    [
      'with their keys in another order',
      { a: { type: 'object', required: ['b'] } },
      { a: { required: ['b'], type: 'object' } },
    ],
    ['that refer to equal schemas', { a: ref('b'), b: { type: 'string' } }],
    ['that refer to each other', { a: { items: ref('b') }, b: { items: ref('a'), not: ref('b') } }],
    [
      'while other parts differ',
      { a: ref('b'), b: {}, c: { type: 'string' } },
      { a: ref('b'), b: {}, c: { type: 'null' } },
    ],
  ])('%s', (_words, old: Json, now: Json = old) => {
    expect(areIdentical('a', old, now)).toBe(true);
  });

  it.each<[words: string, old: Json, now: Json]>([
    ['if a key was added', { a: { type: 'string' } }, { a: { type: 'string', title: 'A' } }],
    ['if a value was removed', { a: { enum: ['x', 'y'] } }, { a: { enum: ['x'] } }],
    ['if a list is in another order', { a: { enum: ['x', 'y'] } }, { a: { enum: ['y', 'x'] } }],
    ['if one is a list, and one a map', { a: { example: ['x'] } }, { a: { example: { 0: 'x' } } }],
    [
      'if the targets of their $refs differ',
      { a: ref('b'), b: { type: 'string' } },
      { a: ref('b'), b: { type: 'null' } },
    ],
    [
      'if something differs far away in a circle',
      { a: ref('b'), b: { items: ref('c'), not: ref('a') }, c: { items: ref('b'), not: { type: 'string' } } },
      { a: ref('b'), b: { items: ref('c'), not: ref('a') }, c: { items: ref('b'), not: { type: 'null' } } },
    ],
    ['if their $refs are broken', { a: ref('b') }, { a: ref('b') }],
    ['if their $refs lead to themselves', { a: ref('a') }, { a: ref('a') }],
    ['if they have a discriminator', { a: { discriminator: {} } }, { a: { discriminator: {} } }],
  ])('but not %s', (_words, old, now) => {
    expect(areIdentical('a', old, now)).toBe(false);
  });

  it('but not if the OpenAPI versions differ', () => {
    expect(areIdentical('a', { a: { nullable: true } }, { a: { nullable: true } }, '3.0.3')).toBe(false);
  });

  it('whichever part of a circle is compared first', () => {
    const circle = (type: string): Json => ({
      a: ref('b'),
      b: { items: ref('c') },
      c: { items: ref('b'), not: { type } },
      d: {},
    });
    const [before, after] = [documentsOf(circle('string')), documentsOf(circle('null'))];
    const subtrees = new IdenticalSubtrees(before, after);
    const answers = ['d', 'a', 'b', 'c', 'd'].map((key) =>
      subtrees.areIdentical(below(before.root, key), below(after.root, key)),
    );
    expect(answers).toEqual([true, false, false, false, true]);
  });
});
