import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import type { ConfigResult } from '../../../gateway/config/validate.ts';
import { pick, type Random, randomFrom } from '../../../gateway/contracts/adapters/proof/patternTexts.ts';
import { SchemaSampler } from '../../../gateway/contracts/adapters/proof/schemaSampler.ts';
import { compileOperations } from '../../../gateway/contracts/adapters/serving/transform.ts';
import { acceptedOrFaults, loadPair, object, type ResponsePair, type Schema } from './fixtures.ts';

/** A field of v2's response, an operation on the field, and schemas of v1 that fit the result (`right`) or do not fit it (`wrong`). */
interface Kind {
  readonly from: Schema;
  readonly operation: (name: string) => Schema | undefined;
  readonly right: readonly Schema[];
  readonly wrong: readonly Schema[];
  readonly isOptional?: true;
}

const text = { type: 'string' };
const integer = { type: 'integer' };
const small = { type: 'integer', minimum: 0, maximum: 9 };
const digits = { type: 'string', pattern: '^[0-9]{1,4}$' };
const moment = { type: 'string', format: 'date-time' };
const money = { type: 'number', multipleOf: 0.01, minimum: 0, maximum: 1000 };
const listOf = (items: Schema, limits: Schema = {}): Schema => ({ type: 'array', items, ...limits });

const kinds: readonly Kind[] = [
  {
    from: text,
    operation: () => undefined,
    right: [text, { type: ['string', 'null'] }],
    wrong: [integer, { ...text, maxLength: 20 }, { enum: ['x'] }],
  },
  {
    from: { type: ['string', 'null'] },
    operation: () => undefined,
    right: [{ type: ['string', 'null'] }],
    wrong: [text],
  },
  {
    from: { type: ['string', 'null'] },
    operation: (name) => ({ map: { [name]: { null: '' } } }),
    right: [text],
    wrong: [{ ...text, minLength: 1 }],
  },
  {
    from: { enum: ['x', 'y'] },
    operation: (name) => ({ map: { [name]: { x: 'p', y: 'q' } } }),
    right: [{ enum: ['p', 'q'] }, { enum: ['p', 'q', 'r'] }],
    wrong: [{ enum: ['x', 'y'] }, { enum: ['p'] }],
  },
  {
    from: integer,
    operation: (name) => ({ convert: { [name]: 'string' } }),
    right: [text, { ...text, pattern: '^-?[0-9]+$' }],
    wrong: [integer, { ...text, pattern: '^[0-9]+$' }, { ...text, maxLength: 4 }],
  },
  {
    from: small,
    operation: (name) => ({ convert: { [name]: 'string' } }),
    right: [{ ...text, pattern: '^[0-9]$' }],
    wrong: [{ ...text, minLength: 2 }],
  },
  {
    from: digits,
    operation: (name) => ({ convert: { [name]: 'integer' } }),
    right: [integer, { type: 'number', minimum: 0 }],
    wrong: [text, { ...integer, maximum: 999 }],
  },
  {
    from: money,
    operation: (name) => ({ convert: { [name]: 'decimal_string(2)' } }),
    right: [{ ...text, pattern: String.raw`^\d+\.\d\d$` }],
    wrong: [{ ...text, pattern: String.raw`^\d+\.\d$` }, { type: 'number' }],
  },
  {
    from: moment,
    operation: (name) => ({ convert: { [name]: 'date' } }),
    right: [{ ...text, format: 'date' }],
    wrong: [moment],
  },
  {
    from: text,
    operation: (name) => ({ wrap: name }),
    right: [listOf(text), listOf(text, { minItems: 1, maxItems: 1 })],
    wrong: [listOf(integer), listOf(text, { minItems: 2 })],
  },
  { from: listOf(text, { minItems: 1 }), operation: (name) => ({ head: name }), right: [text], wrong: [integer] },
  {
    from: listOf(integer),
    operation: (name) => ({ each: { [name]: [{ convert: { '': 'string' } }] } }),
    right: [listOf(text)],
    wrong: [listOf(integer), listOf(text, { uniqueItems: true })],
  },
  {
    from: { type: 'object', additionalProperties: integer },
    operation: (name) => ({ each: { [name]: [{ wrap: '' }] } }),
    right: [{ type: 'object', additionalProperties: listOf(integer) }],
    wrong: [{ type: 'object', additionalProperties: integer }],
  },
  {
    from: { type: 'array', prefixItems: [text, integer], items: false, minItems: 2 },
    operation: (name) => ({ head: name }),
    right: [text],
    wrong: [integer],
  },
  {
    from: small,
    operation: (name) => ({ default: { [name]: 7 } }),
    right: [small, integer],
    wrong: [text, { ...small, maximum: 5 }],
    isOptional: true,
  },
  {
    from: text,
    operation: (name) => ({ const: { [name]: '2026-01-02' } }),
    right: [{ ...text, format: 'date' }, { const: '2026-01-02' }],
    wrong: [moment, { const: 'x' }],
  },
];

const shapes: readonly ((item: Schema, operations: readonly Schema[]) => readonly [Schema, readonly Schema[]])[] = [
  (item, operations) => [item, operations],
  (item, operations) => [listOf(item), [{ each: { '': operations } }]],
  (item, operations) => [object({ rows: listOf(item) }), [{ each: { rows: operations } }]],
  (item, operations) => [{ type: 'object', additionalProperties: item }, [{ each: { '': operations } }]],
  (item, operations) => [{ allOf: [item, object({ id: integer })] }, operations],
  (item, operations) => [{ anyOf: [item, { type: 'null' }] }, operations],
];

/** `isWrong`: whether one field of v1's contract does not fit. */
function pairFrom(random: Random, isWrong: boolean): ResponsePair {
  const fields = ['a', 'b', 'c'].map((name) => ({ name, kind: pick(kinds, random) }));
  const renamed = (name: string): string => `${name}_new`;
  const faulty = pick(fields, random);
  const from = fields.map(({ name, kind }) => [name, kind.from] as const);
  const to = fields.map((one) => {
    const schemas = isWrong && one === faulty ? one.kind.wrong : one.kind.right;
    return [renamed(one.name), pick(schemas, random)] as const;
  });
  const required = fields.flatMap(({ name, kind }) => (kind.isOptional ? [] : [name]));
  const operations = fields.flatMap(({ name, kind }) =>
    [kind.operation(name) ?? [], { rename: { [name]: renamed(name) } }].flat(),
  );
  const shape = pick(shapes, random);
  const [v2, adapted] = shape(object(Object.fromEntries(from), required), operations);
  return { v1: shape(object(Object.fromEntries(to)), [])[0], v2, operations: adapted };
}

it.each([false, true])('decides on generated adapters, with a fault: %s', async (isWrong) => {
  const random = randomFrom(isWrong ? 1 : 2);
  for (let count = 0; count < 25; count += 1) {
    const pair = pairFrom(random, isWrong);
    const result = await loadPair(pair);
    const written = JSON.stringify(pair);
    expect([result.faults.length > 0, written, acceptedOrFaults(result)]).toEqual([
      isWrong,
      written,
      expect.anything(),
    ]);
    if (!isWrong) expect([counterexample(pair, result), written]).toEqual([undefined, written]);
  }
});

/** A value of v2 that is not valid under v1's schema after the operations. */
function counterexample({ v1, v2 }: ResponsePair, { snapshot }: ConfigResult): string | undefined {
  const { routes: [route] = [], derivedFromContracts } = snapshot?.versions.get('v1')?.adapter ?? {};
  const operations = route && 'to' in route ? (route.responses.get('200') ?? []) : [];
  const adapt = compileOperations(operations, derivedFromContracts?.otherTypes);
  const ajv = new Ajv2020({ strict: false, validateFormats: false, multipleOfPrecision: 9 });
  const [isFrom, isTo] = [ajv.compile(v2), ajv.compile(v1)];
  const sampler = new SchemaSampler({}, { direction: 'response', seed: 3 });
  for (let count = 0; count < 40; count += 1) {
    const value = sampler.next(v2);
    if (value === undefined || !isFrom(value)) continue;
    const written = JSON.stringify(value);
    if (!isTo(JSON.parse(JSON.stringify(adapt(value))))) return written;
  }
  return undefined;
}
