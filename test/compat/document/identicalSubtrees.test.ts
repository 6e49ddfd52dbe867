import { describe, expect, it } from 'vitest';
import { IdenticalSubtrees } from '../../../gateway/compat/document/identicalSubtrees.ts';
import { below } from '../../../gateway/compat/document/located.ts';
import { documentsOf, type Json } from '../support/comparing.ts';

const ref = (name: string): Json => ({ $ref: `#/${name}` });

/** Of what stands under a key in both; no object is in both. */
function areTwins(key: string, old: Json, now: Json, version = '3.1.0'): boolean {
  const [before, after] = [
    documentsOf(structuredClone({ openapi: '3.1.0', ...old })),
    documentsOf(structuredClone({ openapi: version, ...now })),
  ];
  return new IdenticalSubtrees(before, after).are(below(before.root, key), below(after.root, key));
}

describe('two places are twins', () => {
  it.each([
    ['that say the same', { a: { type: 'string', enum: ['x', null] } }],
    [
      'with their keys in another order',
      { a: { type: 'object', required: ['b'] } },
      { a: { required: ['b'], type: 'object' } },
    ],
    ['that refer to the same', { a: ref('b'), b: { type: 'string' } }],
    ['that refer to each other', { a: { items: ref('b') }, b: { items: ref('a'), not: ref('b') } }],
    ['while others differ', { a: ref('b'), b: {}, c: { type: 'string' } }, { a: ref('b'), b: {}, c: { type: 'null' } }],
  ])('%s', (_words, old: Json, now: Json = old) => {
    expect(areTwins('a', old, now)).toBe(true);
  });

  it.each<[words: string, old: Json, now: Json]>([
    ['if one has more', { a: { type: 'string' } }, { a: { type: 'string', title: 'A' } }],
    ['if one has less', { a: { enum: ['x', 'y'] } }, { a: { enum: ['x'] } }],
    ['if lists are in another order', { a: { enum: ['x', 'y'] } }, { a: { enum: ['y', 'x'] } }],
    ['if one is a list, and one a map', { a: { example: ['x'] } }, { a: { example: { 0: 'x' } } }],
    ['if what they refer to differs', { a: ref('b'), b: { type: 'string' } }, { a: ref('b'), b: { type: 'null' } }],
    [
      'if something differs far away in a circle',
      { a: ref('b'), b: { items: ref('c'), not: ref('a') }, c: { items: ref('b'), not: { type: 'string' } } },
      { a: ref('b'), b: { items: ref('c'), not: ref('a') }, c: { items: ref('b'), not: { type: 'null' } } },
    ],
    ['if their references lead nowhere', { a: ref('b') }, { a: ref('b') }],
    ['if their references lead to themselves', { a: ref('a') }, { a: ref('a') }],
    ['if they choose from what may stand anywhere', { a: { discriminator: {} } }, { a: { discriminator: {} } }],
  ])('but not %s', (_words, old, now) => {
    expect(areTwins('a', old, now)).toBe(false);
  });

  it('but not where the same words mean something else', () => {
    expect(areTwins('a', { a: { nullable: true } }, { a: { nullable: true } }, '3.0.3')).toBe(false);
  });

  it('whichever of a circle is asked for first', () => {
    const circle = (type: string): Json => ({
      a: ref('b'),
      b: { items: ref('c') },
      c: { items: ref('b'), not: { type } },
      d: {},
    });
    const [before, after] = [documentsOf(circle('string')), documentsOf(circle('null'))];
    const twins = new IdenticalSubtrees(before, after);
    const answers = ['d', 'a', 'b', 'c', 'd'].map((key) => twins.are(below(before.root, key), below(after.root, key)));
    expect(answers).toEqual([true, false, false, false, true]);
  });
});
