import type { ContractOptions, JsonSchema } from './pairs.ts';

/** A difference between the responses of two versions, and how the report must show it. */
export interface SeededDifference {
  readonly name: string;
  readonly old: JsonSchema | undefined;
  readonly new: JsonSchema | undefined;
  readonly options?: ContractOptions;
  readonly newOptions?: ContractOptions;
  /** The bodies of pair number `index`. */
  readonly before: (index: number) => unknown;
  readonly after: (index: number) => unknown;
  readonly class: 'declared' | 'undeclared';
  /** `PATH WHAT`, the start of the difference. */
  readonly at: string;
}

const text = { type: 'string' };
const number = { type: 'number' };
const nullable = { type: ['string', 'null'] };

function object(properties: Record<string, unknown>, required: readonly string[] = [], more: object = {}): JsonSchema {
  return { type: 'object', properties, required, ...more };
}

const drink = object({ id: { type: 'integer' }, name: text, price: text, glass: text }, ['id', 'name', 'price']);
const body = (index: number) => ({ id: index, name: `Drink ${index}`, price: '9.50', glass: 'coupe' });
const without =
  (...names: string[]) =>
  (index: number) =>
    Object.fromEntries(Object.entries(body(index)).filter(([name]) => !names.includes(name)));
const withFields =
  (fields: object) =>
  (index: number): unknown => ({ ...body(index), ...fields });

function changed(properties: Record<string, unknown>, required = ['id', 'name', 'price']): JsonSchema {
  return object({ id: { type: 'integer' }, name: text, price: text, glass: text, ...properties }, required);
}

function omitting(...names: string[]): JsonSchema {
  const all: Record<string, unknown> = { id: { type: 'integer' }, name: text, price: text, glass: text };
  for (const name of names) delete all[name];
  return object(
    all,
    ['id', 'name', 'price'].filter((name) => !names.includes(name)),
  );
}

/** One field `f` with another schema and another value. */
function field(
  name: string,
  [old, now]: readonly [unknown, unknown],
  [before, after]: readonly [unknown, unknown],
  expected: Pick<SeededDifference, 'class' | 'at'>,
  more: Partial<SeededDifference> = {},
): SeededDifference {
  const shapes = { old: object({ f: old }, ['f']), new: object({ f: now }, ['f']) };
  return { name, ...shapes, before: () => ({ f: before }), after: () => ({ f: after }), ...expected, ...more };
}

const declared = (at: string) => ({ class: 'declared', at }) as const;
const undeclared = (at: string) => ({ class: 'undeclared', at }) as const;

const card = object({ kind: { const: 'card' }, number: text }, ['kind', 'number']);
const cash = object({ kind: { const: 'cash' }, amount: number }, ['kind', 'amount']);
const voucher = object({ kind: { const: 'voucher' }, code: text }, ['kind', 'code']);
const node = { Node: object({ name: text, next: { $ref: '#/components/schemas/Node' } }, ['name']) };
const numericNode = { Node: object({ name: number, next: { $ref: '#/components/schemas/Node' } }, ['name']) };
const list = (items: unknown) => ({ type: 'array', items }) as JsonSchema;
const v30 = { options: { openapi: '3.0.3' }, newOptions: { openapi: '3.0.3' } };

export const seededDifferences: readonly SeededDifference[] = [
  // Fields that are missing.
  {
    name: 'a required field is removed in both',
    old: drink,
    new: omitting('price'),
    before: body,
    after: without('price'),
    ...declared('/price required'),
  },
  {
    name: 'a required field is missing, and the contract still requires it',
    old: drink,
    new: drink,
    before: body,
    after: without('price'),
    ...undeclared('/price required'),
  },
  {
    name: 'an optional field is removed in both',
    old: drink,
    new: omitting('glass'),
    before: body,
    after: without('glass'),
    ...declared('/glass absent'),
  },
  {
    name: 'an optional field is never sent, and the contract still lists it',
    old: drink,
    new: drink,
    before: body,
    after: without('glass'),
    ...undeclared('/glass absent'),
  },
  {
    name: 'a required field becomes optional and is missing',
    old: drink,
    new: changed({}, ['id', 'name']),
    before: body,
    after: without('price'),
    ...declared('/price required'),
  },
  {
    name: 'a field that no contract lists is missing',
    old: drink,
    new: drink,
    before: withFields({ secret: 1 }),
    after: body,
    ...undeclared('/secret absent'),
  },
  {
    name: 'a field that only the new contract lists is missing',
    old: omitting('glass'),
    new: drink,
    before: body,
    after: without('glass'),
    ...undeclared('/glass absent'),
  },
  {
    name: 'a field is renamed in both',
    old: drink,
    new: object({ id: { type: 'integer' }, title: text, price: text, glass: text }),
    before: body,
    after: (i) => ({ ...without('name')(i), title: 'x' }),
    ...declared('/name required'),
  },
  {
    name: 'a field is renamed in the responses only',
    old: drink,
    new: drink,
    before: body,
    after: (i) => ({ ...without('name')(i), title: 'x' }),
    ...undeclared('/name required'),
  },
  {
    name: 'an optional field is renamed in the responses only',
    old: drink,
    new: drink,
    before: body,
    after: (i) => ({ ...without('glass')(i), Glass: 'x' }),
    ...undeclared('/glass absent'),
  },
  {
    name: 'a field moves into an object',
    old: drink,
    new: drink,
    before: body,
    after: (i) => ({ ...without('price')(i), cost: { price: '9.50' } }),
    ...undeclared('/price required'),
  },
  {
    name: 'a field is sent in half of the responses',
    old: drink,
    new: drink,
    before: body,
    after: (i) => (i % 2 ? body(i) : without('glass')(i)),
    ...undeclared('/glass absent'),
  },
  {
    name: 'a field of an item is missing',
    old: list(drink),
    new: list(drink),
    before: (i) => [body(i), body(i)],
    after: (i) => [body(i), without('glass')(i)],
    ...undeclared('/*/glass absent'),
  },
  {
    name: 'a required field of an item is missing',
    old: list(drink),
    new: list(drink),
    before: (i) => [body(i), body(i)],
    after: (i) => [body(i), without('price')(i)],
    ...undeclared('/*/price required'),
  },
  {
    name: 'a field of an item is removed in both',
    old: list(drink),
    new: list(omitting('price')),
    before: (i) => [body(i)],
    after: (i) => [without('price')(i)],
    ...declared('/*/price required'),
  },
  {
    name: 'a field of a nested object is missing',
    old: object({ a: object({ b: object({ c: text }) }) }),
    new: object({ a: object({ b: object({ c: text }) }) }),
    before: () => ({ a: { b: { c: 'x' } } }),
    after: () => ({ a: { b: {} } }),
    ...undeclared('/a/b/c absent'),
  },
  {
    name: 'an object is missing with all its fields',
    old: object({ a: object({ b: text }) }),
    new: object({}),
    before: () => ({ a: { b: 'x' } }),
    after: () => ({}),
    ...declared('/a absent'),
  },
  {
    name: 'a field of the entries of a map is missing',
    old: object({ byId: { type: 'object', additionalProperties: drink } }),
    new: object({ byId: { type: 'object', additionalProperties: drink } }),
    before: (i) => ({ byId: { [`x${i}`]: body(i) } }),
    after: (i) => ({ byId: { [`x${i}`]: without('glass')(i) } }),
    ...undeclared('/byId/*/glass absent'),
  },
  {
    name: 'a map is empty',
    old: object({ byId: { type: 'object', additionalProperties: text } }),
    new: object({ byId: { type: 'object', additionalProperties: text } }),
    before: (i) => ({ byId: { [`x${i}`]: 'x' } }),
    after: () => ({ byId: {} }),
    ...undeclared('/byId/* empty'),
  },
  {
    name: 'a list is empty',
    old: object({ tags: list(text) }),
    new: object({ tags: list(text) }),
    before: () => ({ tags: ['x'] }),
    after: () => ({ tags: [] }),
    ...undeclared('/tags/* empty'),
  },
  // Types.
  field(
    'a number instead of a decimal string, declared',
    [text, number],
    ['9.50', 9.5],
    declared('/f type string → number'),
  ),
  field(
    'a number instead of a decimal string, not declared',
    [text, text],
    ['9.50', 9.5],
    undeclared('/f type string → number'),
  ),
  field('a string instead of a number, declared', [number, text], [9.5, '9.50'], declared('/f type number → string')),
  field(
    'a string instead of an integer, not declared',
    [{ type: 'integer' }, { type: 'integer' }],
    [9, '9'],
    undeclared('/f type number → string'),
  ),
  field('a fraction instead of an integer, declared', [{ type: 'integer' }, number], [9, 9.5], declared('/f type')),
  field(
    'a fraction instead of an integer, not declared',
    [{ type: 'integer' }, { type: 'integer' }],
    [9, 9.5],
    undeclared('/f type'),
  ),
  field(
    'a string instead of a boolean',
    [{ type: 'boolean' }, { type: 'boolean' }],
    [true, 'true'],
    undeclared('/f type boolean → string'),
  ),
  field(
    'a number instead of a boolean, declared',
    [{ type: 'boolean' }, { type: 'integer' }],
    [true, 1],
    declared('/f type boolean → number'),
  ),
  field(
    'an object instead of a string, declared',
    [text, object({ id: text })],
    ['x', { id: 'x' }],
    declared('/f type string → object'),
  ),
  field(
    'an object instead of a string, not declared',
    [text, text],
    ['x', { id: 'x' }],
    undeclared('/f type string → object'),
  ),
  field('a list instead of a value, declared', [text, list(text)], ['x', ['x']], declared('/f type string → array')),
  field(
    'a value instead of a list, not declared',
    [list(text), list(text)],
    [['x'], 'x'],
    undeclared('/f type array → string'),
  ),
  field(
    'items of another type, declared',
    [list(text), list(number)],
    [['1'], [1]],
    declared('/f/* type string → number'),
  ),
  field(
    'items of another type, not declared',
    [list(text), list(text)],
    [['1'], [1]],
    undeclared('/f/* type string → number'),
  ),
  field(
    'entries of a map of another type',
    [
      { type: 'object', additionalProperties: text },
      { type: 'object', additionalProperties: text },
    ],
    [{ 'a-1': 'x' }, { 'a-1': 1 }],
    undeclared('/f/* type string → number'),
  ),
  {
    name: 'a list instead of an object',
    old: drink,
    new: list(drink),
    before: body,
    after: (i) => [body(i)],
    ...declared('type object → array'),
  },
  {
    name: 'an envelope around a list, not declared',
    old: list(drink),
    new: list(drink),
    before: (i) => [body(i)],
    after: (i) => ({ items: [body(i)] }),
    ...undeclared('type array → object'),
  },
  {
    name: 'another type of a field that no contract lists',
    old: drink,
    new: drink,
    before: withFields({ extra: '1' }),
    after: withFields({ extra: 1 }),
    ...undeclared('/extra type string → number'),
  },
  {
    name: 'another type without a schema in the old contract',
    old: true,
    new: drink,
    before: withFields({ price: 9.5 }),
    after: body,
    ...undeclared('/price type number → string'),
  },
  {
    name: 'another type where the old contract allows any',
    old: object({ f: {} }),
    new: object({ f: number }),
    before: () => ({ f: '1' }),
    after: () => ({ f: 1 }),
    ...declared('/f type string → number'),
  },
  {
    name: 'another type without contracts',
    old: undefined,
    new: undefined,
    before: () => ({ f: '1' }),
    after: () => ({ f: 1 }),
    ...undeclared('/f type string → number'),
  },
  {
    name: 'a missing field without contracts',
    old: undefined,
    new: undefined,
    before: () => ({ f: '1', g: 1 }),
    after: () => ({ g: 1 }),
    ...undeclared('/f absent'),
  },
  {
    name: 'another type in one of a hundred responses',
    old: drink,
    new: drink,
    before: body,
    after: (i) => (i === 7 ? withFields({ price: 9.5 })(i) : body(i)),
    ...undeclared('/price type string → number'),
  },
  // Null.
  field('null, declared', [text, nullable], ['x', null], declared('/f null')),
  field('null, not declared', [text, text], ['x', null], undeclared('/f null')),
  field('null in all responses of a field that may be null', [nullable, nullable], ['x', null], undeclared('/f null')),
  field(
    'null, declared by nullable in OpenAPI 3.0',
    [text, { type: 'string', nullable: true }],
    ['x', null],
    declared('/f null'),
    v30,
  ),
  field('null in OpenAPI 3.0, not declared', [text, text], ['x', null], undeclared('/f null'), v30),
  field(
    'null beside a reference in OpenAPI 3.0',
    [text, { nullable: true, allOf: [{ $ref: '#/components/schemas/T' }] }],
    ['x', null],
    declared('/f null'),
    { options: { openapi: '3.0.0' }, newOptions: { openapi: '3.0.0', schemas: { T: text } } },
  ),
  {
    name: 'null instead of a list',
    old: object({ tags: list(text) }),
    new: object({ tags: list(text) }),
    before: () => ({ tags: ['x'] }),
    after: () => ({ tags: null }),
    ...undeclared('/tags null'),
  },
  // Values.
  field(
    'a new value of an enum, declared',
    [{ enum: ['a', 'b'] }, { enum: ['a', 'b', 'c'] }],
    ['a', 'c'],
    declared('/f enum'),
  ),
  field(
    'a new value of an enum, not declared',
    [{ enum: ['a', 'b'] }, { enum: ['a', 'b'] }],
    ['a', 'c'],
    undeclared('/f enum'),
  ),
  field(
    'another case of an enum',
    [
      { type: 'string', enum: ['OPEN'] },
      { type: 'string', enum: ['OPEN'] },
    ],
    ['OPEN', 'open'],
    undeclared('/f enum'),
  ),
  field('a value beside a const', [{ const: 'v1' }, { const: 'v1' }], ['v1', 'v2'], undeclared('/f enum')),
  field(
    'a date instead of a date and time, not declared',
    [
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date-time' },
    ],
    ['2026-01-01T00:00:00Z', '2026-01-01'],
    undeclared('/f format date-time'),
  ),
  field(
    'a date instead of a date and time, declared',
    [
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date' },
    ],
    ['2026-01-01T00:00:00Z', '2026-01-01'],
    declared('/f format date-time'),
  ),
  field(
    'epoch seconds instead of a date and time',
    [
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date-time' },
    ],
    ['2026-01-01T00:00:00Z', 1_767_225_600],
    undeclared('/f type string → number'),
  ),
  field(
    'another format of ids',
    [
      { type: 'string', format: 'uuid' },
      { type: 'string', format: 'uuid' },
    ],
    ['6f1b2c3d-0000-4000-8000-000000000000', '17'],
    undeclared('/f format uuid'),
  ),
  field(
    'a value above the maximum, declared',
    [
      { type: 'integer', maximum: 10 },
      { type: 'integer', maximum: 100 },
    ],
    [5, 50],
    declared('/f maximum'),
  ),
  field(
    'a value above the maximum, not declared',
    [
      { type: 'integer', maximum: 10 },
      { type: 'integer', maximum: 10 },
    ],
    [5, 50],
    undeclared('/f maximum'),
  ),
  field(
    'a value at an exclusive minimum of OpenAPI 3.0',
    [
      { type: 'integer', minimum: 0, exclusiveMinimum: true },
      { type: 'integer', minimum: 0, exclusiveMinimum: true },
    ],
    [5, 0],
    undeclared('/f exclusiveMinimum'),
    v30,
  ),
  field(
    'a longer text',
    [
      { type: 'string', maxLength: 3 },
      { type: 'string', maxLength: 3 },
    ],
    ['abc', 'abcd'],
    undeclared('/f maxLength'),
  ),
  field(
    'a text of another pattern',
    [
      { type: 'string', pattern: '^[a-z]+$' },
      { type: 'string', pattern: '^\\d+$' },
    ],
    ['abc', '123'],
    declared('/f pattern'),
  ),
  field(
    'more items',
    [
      { type: 'array', maxItems: 2, items: text },
      { type: 'array', maxItems: 2, items: text },
    ],
    [['a'], ['a', 'b', 'c']],
    undeclared('/f maxItems'),
  ),
  field(
    'items that repeat',
    [
      { type: 'array', uniqueItems: true, items: text },
      { type: 'array', uniqueItems: true, items: text },
    ],
    [['a'], ['a', 'a']],
    undeclared('/f uniqueItems'),
  ),
  field(
    'a value that is no multiple',
    [
      { type: 'number', multipleOf: 5 },
      { type: 'number', multipleOf: 5 },
    ],
    [10, 11],
    undeclared('/f multipleOf'),
  ),
  // Alternatives.
  {
    name: 'a new alternative, declared',
    old: { oneOf: [card, cash] },
    new: { oneOf: [card, cash, voucher] },
    before: () => ({ kind: 'card', number: '1' }),
    after: () => ({ kind: 'voucher', code: 'x' }),
    ...declared('/kind enum'),
  },
  {
    name: 'a new alternative, not declared',
    old: { oneOf: [card, cash] },
    new: { oneOf: [card, cash] },
    before: () => ({ kind: 'card', number: '1' }),
    after: () => ({ kind: 'voucher', code: 'x' }),
    ...undeclared('/'),
  },
  {
    name: 'a field of an alternative has another type',
    old: { anyOf: [card, cash] },
    new: { anyOf: [card, cash] },
    before: () => ({ kind: 'cash', amount: 1 }),
    after: () => ({ kind: 'cash', amount: '1' }),
    ...undeclared('/amount type number → string'),
  },
  {
    name: 'a field of an alternative is missing',
    old: { oneOf: [{ $ref: '#/components/schemas/Card' }, { $ref: '#/components/schemas/Cash' }] },
    new: { oneOf: [{ $ref: '#/components/schemas/Card' }, { $ref: '#/components/schemas/Cash' }] },
    options: { schemas: { Card: card, Cash: cash } },
    newOptions: { schemas: { Card: card, Cash: cash } },
    before: () => ({ kind: 'cash', amount: 1 }),
    after: () => ({ kind: 'cash' }),
    ...undeclared('/amount required'),
  },
  // References, recursion, composition.
  {
    name: 'a field below two levels of a recursive schema',
    old: { $ref: '#/components/schemas/Node' },
    new: { $ref: '#/components/schemas/Node' },
    options: { schemas: node },
    newOptions: { schemas: node },
    before: () => ({ name: 'a', next: { name: 'b', next: { name: 'c' } } }),
    after: () => ({ name: 'a', next: { name: 'b', next: { name: 1 } } }),
    ...undeclared('/next/next/name type string → number'),
  },
  {
    name: 'a type in a recursive schema, declared',
    old: { $ref: '#/components/schemas/Node' },
    new: { $ref: '#/components/schemas/Node' },
    options: { schemas: node },
    newOptions: { schemas: numericNode },
    before: () => ({ name: 'a' }),
    after: () => ({ name: 1 }),
    ...declared('/name type string → number'),
  },
  {
    name: 'a required field of a part of allOf',
    old: { allOf: [drink, object({ owner: text }, ['owner'])] },
    new: { allOf: [drink, object({ owner: text }, ['owner'])] },
    before: withFields({ owner: 'x' }),
    after: body,
    ...undeclared('/owner required'),
  },
  {
    name: 'an unlisted field of a closed object',
    old: drink,
    new: object({ id: { type: 'integer' }, name: text, price: text, glass: text }, [], { additionalProperties: false }),
    before: body,
    after: withFields({ extra: 1 }),
    ...undeclared('/extra unlisted'),
  },
];
