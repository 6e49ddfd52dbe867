import { describe, expect, it } from 'vitest';
import { giving, guideBetween, object, only, onlyTopic } from './contracts.ts';

const string = { type: 'string' };

/** The excerpt after a response field changed from a string to `schema`. */
function shown(schema: unknown, components: Record<string, unknown> = {}): unknown {
  const guide = guideBetween(
    { paths: { '/a': { get: giving(object({ it: string })) } }, components: { schemas: components } },
    { paths: { '/a': { get: giving(object({ it: schema })) } }, components: { schemas: components } },
  );
  const { after } = onlyTopic(only(guide)).sample ?? {};
  return after && [(JSON.parse(after.text) as { it: unknown }).it, after.isGenerated];
}

describe('without an example of the media type, a guide shows', () => {
  it.each([
    ['an example of the schema', { type: 'number', example: 9.5 }, [9.5, false]],
    ['the first of its examples', { type: 'number', examples: [8, 9] }, [8, false]],
    ['its default', { type: 'number', default: 0 }, [0, false]],
    ['its only value', { const: 4 }, [4, false]],
    ['the first value that it lists', { type: 'integer', enum: [3, 5] }, [3, false]],
    ['a value of its type', { type: 'number' }, [1.5, true]],
    ['a number that respects the minimum', { type: 'integer', minimum: 100 }, [100, true]],
    ['a boolean', { type: 'boolean' }, [true, true]],
    ['a list of its items', { type: 'array', items: { type: 'string', format: 'date' } }, [['2030-01-31'], true]],
    ['an object of its fields', object({ id: { type: 'integer' }, at: { default: 'x' } }), [{ id: 1, at: 'x' }, true]],
    [
      'one of several',
      { oneOf: [object({ a: { const: 1 } }), object({ b: { const: 2 } }), object({})] },
      [{ a: 1 }, false],
    ],
  ])('%s', (_what, schema, expected) => expect(shown(schema)).toEqual(expected));

  it('a recursive schema once', () => {
    const tree = { $ref: '#/components/schemas/Tree' };
    const components = { Tree: object({ size: { const: 3 }, left: tree, all: { type: 'array', items: tree } }) };
    expect(shown(tree, components)).toEqual([{ size: 3, all: [] }, true]);
  });

  it('a response without writeOnly fields', () => {
    expect(shown(object({ a: { const: 1 }, secret: { type: 'string', writeOnly: true } }))).toEqual([{ a: 1 }, false]);
  });
});

it('adds generated values to an example that lacks a field, and marks them', () => {
  const guide = guideBetween(
    { paths: { '/a': { get: giving(object({ a: string, b: string }), { a: 'first' }) } } },
    { paths: { '/a': { get: giving(object({ a: { type: 'integer' }, b: { type: 'integer' } }), { a: 1, b: 2 }) } } },
  );
  expect(onlyTopic(only(guide)).sample).toEqual({
    language: 'json',
    before: { text: '{\n  "a": "first",\n  "b": "text"\n}', isGenerated: true },
    after: { text: '{\n  "a": 1,\n  "b": 2\n}', isGenerated: false },
  });
});

it('uses a named example of the media type', () => {
  const schema = object({ a: string });
  const media = (type: string, value: unknown) => ({
    responses: {
      200: {
        description: 'fine',
        content: {
          'application/json': {
            schema: { ...schema, properties: { a: { type } } },
            examples: { usual: { $ref: '#/components/examples/Usual' } },
          },
        },
      },
    },
    value,
  });
  const components = (value: unknown) => ({ examples: { Usual: { value: { a: value } } } });
  const guide = guideBetween(
    { paths: { '/a': { get: media('string', 'x') } }, components: components('old') },
    { paths: { '/a': { get: media('integer', 1) } }, components: components(12) },
  );
  expect(onlyTopic(only(guide)).changes[0]?.text).toContain('`"old"` before, `12` now');
});

it('truncates long excerpts', () => {
  const many = (value: unknown) => Object.fromEntries(Array.from({ length: 100 }, (_unused, at) => [`f${at}`, value]));
  const guide = guideBetween(
    { paths: { '/a': { get: giving(object(many(string))) } } },
    { paths: { '/a': { get: giving(object(many({ type: 'integer' }))) } } },
  );
  const lines = onlyTopic(only(guide)).sample?.before?.text.split('\n') ?? [];
  expect([lines.length, lines.at(-1)]).toEqual([40, '…']);
});
