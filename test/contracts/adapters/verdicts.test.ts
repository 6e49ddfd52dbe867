import { expect, it } from 'vitest';
import { acceptedOrFaults, loadPair, object, type ResponsePair, type Schema } from './fixtures.ts';

const text = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
const nullable = { type: ['string', 'null'] };
const item = { $ref: '#/components/schemas/Item' };

function field(schema: Schema, name = 'a'): Schema {
  return object({ [name]: schema });
}

function values(...list: readonly unknown[]): Schema {
  return { enum: list };
}

function uniqueList(items: Schema, isUnique = true): Schema {
  return field({ type: 'array', items, uniqueItems: isUnique });
}

const convert = (to: string): readonly Schema[] => [{ convert: { a: to } }];
const inItems = (...operations: readonly Schema[]): readonly Schema[] => [{ each: { a: operations } }];
const sloppy = { type: 'string', required: true, enum: [], minLength: '1' };
const oldPattern = String.raw`^[\w-.]+$`;

it.each<[string, ResponsePair]>([
  [
    'a pattern without the flag u',
    { v1: field({ ...text, pattern: oldPattern }), v2: field({ ...text, pattern: oldPattern }) },
  ],
  [
    'an invalid pattern on both sides',
    { v1: field({ ...text, pattern: '(?i)^a' }), v2: field({ ...text, pattern: '(?i)^a' }) },
  ],
  [
    'unique items whose field is renamed',
    {
      v1: uniqueList(object({ t: text })),
      v2: uniqueList(object({ n: text })),
      operations: inItems({ rename: { n: 't' } }),
    },
  ],
  [
    'unique items with other values',
    {
      v1: uniqueList(values('p', 'q')),
      v2: uniqueList(values('x', 'y')),
      operations: inItems({ map: { '': { x: 'p', y: 'q' } } }),
    },
  ],
  [
    'unique items as texts',
    { v1: uniqueList(text), v2: uniqueList(integer), operations: inItems({ convert: { '': 'string' } }) },
  ],
  [
    'a number as a text with a pattern',
    { v1: field({ ...text, pattern: String.raw`^-?\d+(\.\d+)?$` }), v2: field(number), operations: convert('string') },
  ],
  [
    'an integer as a text with a pattern',
    {
      v1: field({ ...text, pattern: String.raw`^\d+$` }),
      v2: field({ ...integer, minimum: 0 }),
      operations: convert('string'),
    },
  ],
  [
    'int32 as a text of 11 characters',
    {
      v1: field({ ...text, maxLength: 11 }),
      v2: field({ ...integer, format: 'int32' }),
      operations: convert('string'),
    },
  ],
  ['null in a list of types and in a choice', { v1: field(nullable), v2: field({ anyOf: [text, { type: 'null' }] }) }],
  ['null in a choice and in a list of types', { v1: field({ oneOf: [text, { type: 'null' }] }), v2: field(nullable) }],
  ['null in one part of an allOf', { v1: field(text), v2: { allOf: [field(nullable), field(text)] } }],
  [
    'a field of a nullable object',
    {
      v1: field({ ...object({ t: text }), type: ['object', 'null'] }),
      v2: field({ ...object({ n: text }), type: ['object', 'null'] }),
      operations: [{ rename: { '/a/n': 't' } }],
    },
  ],
  [
    'a nullable body',
    {
      v1: { ...object({ t: text }), type: ['object', 'null'] },
      v2: { ...object({ n: text }), type: ['object', 'null'] },
      operations: [{ rename: { n: 't' } }],
    },
  ],
  [
    'a nullable reference in OpenAPI 3.0',
    {
      openapi: '3.0.3',
      v1: field({ nullable: true, allOf: [item] }, 'q'),
      v2: field({ nullable: true, allOf: [item] }, 'p'),
      operations: [{ rename: { p: 'q' } }],
    },
  ],
  [
    'a field of a nullable reference',
    {
      openapi: '3.0.3',
      v1: field({ nullable: true, type: 'object', required: ['t'], properties: { t: text } }),
      v2: field({ nullable: true, allOf: [item] }),
      operations: [{ rename: { '/a/n': 't' } }],
    },
  ],
  [
    'a range of media types',
    { v1: { '*/*': field(text) }, v2: { '*/*': field(text, 'b') }, operations: [{ rename: { b: 'a' } }] },
  ],
  [
    'another type of v2, which is not asked for',
    {
      v1: field(text),
      v2: { 'application/json': field(text, 'b'), 'application/xml': text },
      operations: [{ rename: { b: 'a' } }],
    },
  ],
  [
    'a constant date',
    {
      v1: object({ a: text, d: { ...text, format: 'date' } }),
      v2: field(text),
      operations: [{ const: { d: '2026-01-02' } }],
    },
  ],
  [
    'a constant of another format',
    {
      v1: object({ a: text, d: { ...text, format: 'email' } }),
      v2: field(text),
      operations: [{ default: { d: 'a@example.com' } }],
    },
  ],
  [
    'an empty list',
    { v1: object({ a: text, l: { type: 'array', items: text } }), v2: field(text), operations: [{ const: { l: [] } }] },
  ],
  [
    'seconds as int64',
    {
      v1: field({ ...integer, format: 'int64' }),
      v2: field({ ...text, format: 'date-time' }),
      operations: convert('epoch_seconds'),
    },
  ],
  [
    'a field moved within a nullable object',
    {
      v1: field({ ...object({ b: object({ n: text }) }), type: ['object', 'null'] }),
      v2: field({ ...object({ n: text }), type: ['object', 'null'] }),
      operations: [{ move: { '/a/n': '/a/b/n' } }],
    },
  ],
  [
    'equal items that are wrapped',
    {
      v1: field({ type: 'array', items: { type: 'array', items: text } }),
      v2: field({ type: 'array', items: text }),
      operations: inItems({ wrap: '' }),
    },
  ],
  [
    'the items of a map by pattern',
    {
      v1: { type: 'object', patternProperties: { '^x': text }, additionalProperties: false },
      v2: { type: 'object', patternProperties: { '^x': integer }, additionalProperties: false },
      operations: [{ each: { '': [{ convert: { '': 'string' } }] } }],
    },
  ],
])('accepts %s', async (_name, pair) => {
  expect(acceptedOrFaults(await loadPair(pair))).toBe('accepted');
});

it.each<[string, ResponsePair]>([
  ['another pattern that needs no flag u', { v1: field({ ...text, pattern: oldPattern }), v2: field(text) }],
  [
    'a limit beside such a pattern',
    {
      v1: object({ a: { ...text, pattern: oldPattern }, b: { ...text, maxLength: 3 } }),
      v2: object({ a: { ...text, pattern: oldPattern }, b: text }),
    },
  ],
  [
    'an invalid pattern that v2 does not have',
    { v1: field({ ...text, pattern: '(?i)^a+$' }), v2: field({ ...text, pattern: '^a+$' }) },
  ],
  ['items that may repeat', { v1: uniqueList(text), v2: uniqueList(text, false) }],
  [
    'unique items with the same new value',
    {
      v1: uniqueList(values('z')),
      v2: uniqueList(values('x', 'y')),
      operations: inItems({ map: { '': { x: 'z', y: 'z' } } }),
    },
  ],
  [
    'unique items without the field that differs',
    {
      v1: uniqueList(object({ t: values('a', 'b') })),
      v2: uniqueList(object({ t: values('a', 'b'), id: text })),
      operations: inItems({ drop: 'id' }),
    },
  ],
  [
    'a negative number as a text of digits',
    { v1: field({ ...text, pattern: String.raw`^\d+$` }), v2: field(integer), operations: convert('string') },
  ],
  [
    'int64 as a text of 11 characters',
    {
      v1: field({ ...text, maxLength: 11 }),
      v2: field({ ...integer, format: 'int64' }),
      operations: convert('string'),
    },
  ],
  [
    'the key 1.0 of a map for the number 1',
    { v1: field(values('x', 'y')), v2: field(values(1, 2)), operations: [{ map: { a: { '1.0': 'x', 2: 'y' } } }] },
  ],
  ['a nullable field in one alternative', { v1: field(text), v2: { anyOf: [field(nullable), field(text)] } }],
  [
    'a type of both versions that is not JSON',
    {
      v1: { 'application/json': field(text), 'application/xml': text },
      v2: { 'application/json': field(text, 'b'), 'application/xml': text },
      operations: [{ rename: { b: 'a' } }],
    },
  ],
  ['operations on a text', { v1: { 'text/plain': text }, v2: { 'text/plain': text }, operations: [{ wrap: '' }] }],
  ['a range of media types with another field', { v1: { '*/*': field(text) }, v2: { '*/*': field(text, 'b') } }],
  [
    'a constant that is no date',
    {
      v1: object({ a: text, d: { ...text, format: 'date' } }),
      v2: field(text),
      operations: [{ const: { d: '2026-02-30' } }],
    },
  ],
  [
    'the default of a date with a time',
    {
      v1: field({ ...text, format: 'date' }),
      v2: object({ a: { ...text, format: 'date' } }, []),
      operations: [{ default: { a: '2026-01-02T00:00:00Z' } }],
    },
  ],
  [
    'a field moved out of a nullable object',
    {
      v1: object({ n: text }),
      v2: field({ ...object({ n: text }), type: ['object', 'null'] }),
      operations: [{ move: { '/a/n': '/n' } }],
    },
  ],
  [
    'a limit beside keywords that no validator accepts',
    {
      v1: object({ a: sloppy, b: { ...text, maxLength: 3 } }),
      v2: object({ a: sloppy, b: text }),
    },
  ],
])('rejects %s', async (_name, pair) => {
  expect(acceptedOrFaults(await loadPair(pair))).toMatch(/^routes\.yaml:1:\d+ +routes\.\/v1\.adapter/);
});
