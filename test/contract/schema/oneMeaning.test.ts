import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { expect, it } from 'vitest';
import { Documents } from '../../../gateway/contract/document/documents.ts';
import { below, rootOf } from '../../../gateway/contract/document/located.ts';
import { TooManyAlternatives } from '../../../gateway/contract/schema/alternatives.ts';
import { unionOfTypes } from '../../../gateway/contract/schema/choices.ts';
import { JsonSchemas, type PlainSchema } from '../../../gateway/contract/schema/jsonSchema.ts';
import type { JsonType } from '../../../gateway/contract/schema/keywords.ts';
import { schemaRegExp } from '../../../gateway/contract/schema/patterns.ts';
import { schemaPolicies } from '../../../gateway/contract/schema/policies.ts';
import { Schemas } from '../../../gateway/contract/schema/schemas.ts';
import { checkCodeOf, SchemaValidator } from '../../../gateway/contract/schema/validator.ts';
import { branchesOf, typesOf } from '../../../gateway/contracts/adapters/proof/branches.ts';
import { randomFrom } from '../../../gateway/contracts/adapters/proof/patternTexts.ts';
import { ResponseValidator } from '../../../gateway/contracts/shadow/compare/validation.ts';
import { cases } from '../../support/cases.ts';
import { type RandomContract, SchemaGenerator } from './randomSchemas.ts';
import { isValidByReference } from './referenceMeaning.ts';

/** The readers that say whether a response is valid, and the row of `schemaPolicies` that each of them has to follow. */
const uses = {
  adapter: schemaPolicies.adaptedResponse,
  served: schemaPolicies.servedResponse,
  shadow: schemaPolicies.evidence,
  openShadow: schemaPolicies.openEvidence,
} as const;

type Verdict = (value: unknown) => boolean;

interface Readers {
  readonly verdicts: Readonly<Record<keyof typeof uses, Verdict>>;
  /** Of the comparison of contracts. */
  readonly acceptsNull: boolean;
  /** The types that the comparison and the operations of adapters expect. Undefined: any. */
  readonly types: readonly (ReadonlySet<string> | undefined)[];
  /** Whether a value is valid for one of the alternatives. */
  readonly isInBranch: Verdict;
}

function readersOf({ openapi, schema, schemas }: RandomContract): Readers {
  const file = { name: 'openapi.json', root: { openapi, components: { schemas }, schema } };
  const documents = new Documents(file, () => {
    throw new Error('the contract has one file');
  });
  const located = below(rootOf(file), 'schema');
  const responses = new JsonSchemas(documents, schemaPolicies.adaptedResponse);
  const plain = responses.schema(located);
  const validator = new SchemaValidator(responses);
  const checks: { readonly body?: Verdict } = {};
  const code = checkCodeOf({ body: plain }, responses.named);
  const requireHelper = createRequire(import.meta.url);
  compileFunction(code, ['exports', 'require', 'regExp'])(checks, requireHelper, schemaRegExp);
  const [strict, open] = [false, true].map((isOpen) => new ResponseValidator(documents, { isOpen }));
  const view = new Schemas(documents).schemaAt(located);
  const branches = orAny(() => branchesOf(plain, responses.named));
  const branchTypes = branches.map(typesOf);
  return {
    verdicts: {
      adapter: (value) => validator.isValid(plain, value),
      served: (value) => checks.body?.(value) ?? true,
      shadow: (value) => strict?.violations(located, value).length === 0,
      openShadow: (value) => open?.violations(located, value).length === 0,
    },
    acceptsNull: view.acceptsNull,
    types: [
      unionOfTypes(view) && new Set<JsonType | 'null'>([...(unionOfTypes(view) ?? []), 'null']),
      branchTypes.includes(undefined) ? undefined : new Set(branchTypes.flatMap((types) => types ?? [])),
    ],
    isInBranch: (value) => branches.some((branch) => validator.isValid(branch, value)),
  };
}

const count = cases(400, 20_000);

it(`every reader of a schema gives the answer of its specification, over ${count} random schemas`, () => {
  const generator = new SchemaGenerator(randomFrom(37));
  const disagreements = new Map<string, string>();
  let validCount = 0;
  for (let index = 0; index < count; index += 1) {
    const contract = generator.next();
    const readers = readersOf(contract);
    const note = (reader: string, value: unknown, answer: unknown): void => {
      const written = JSON.stringify({ ...contract, value, answer });
      const shortest = disagreements.get(reader);
      if (shortest === undefined || written.length < shortest.length) disagreements.set(reader, written);
    };
    const values = generator.values(contract, 24);
    for (const value of values) {
      const expected = isValidByReference(contract, value, schemaPolicies.adaptedResponse);
      for (const [name, use] of Object.entries(uses)) {
        const answer = readers.verdicts[name as keyof typeof uses](value);
        if (answer !== isValidByReference(contract, value, use)) note(name, value, answer);
      }
      // The other readers only have to include all valid values.
      if (!expected) continue;
      validCount += 1;
      if (!readers.isInBranch(value)) note('branches', value, false);
      if (!impliesTypes(contract) && readers.types.some((types) => types && !hasTypeOf(value, types)))
        note('types', value, false);
    }
    // A comparison of contracts reads `oneOf` as `anyOf`, and takes a type from keywords such as `properties`.
    const isNullValid = isValidByReference(contract, null, { ...schemaPolicies.description, oneOfIsAnyOf: true });
    if (isNullValid !== readers.acceptsNull && !impliesTypes(contract)) note('comparison', null, readers.acceptsNull);
  }
  expect(Object.fromEntries(disagreements)).toEqual({});
  expect(validCount).toBeGreaterThan(count * 5);
});

const target = { A: { type: 'string' }, N: { type: 'string', nullable: true } };
const a = { $ref: '#/components/schemas/A' };

it.each<[openapi: RandomContract['openapi'], schema: unknown, value: unknown, isValid: boolean]>([
  ['3.1.0', { type: ['string', 'null'], enum: [1, 'a'] }, null, false],
  ['3.0.3', { type: 'string', nullable: true, enum: ['a'] }, null, true],
  ['3.1.0', { const: 'a', nullable: true }, null, true],
  ['3.1.0', { type: 'string', const: 'a', nullable: true }, null, true],
  ['3.1.0', { ...a, type: 'string', nullable: true }, null, false],
  ['3.0.3', { ...a, nullable: true }, null, false],
  ['3.1.0', { $ref: '#/components/schemas/N', nullable: true }, null, true],
  ['3.0.3', { allOf: [a], nullable: true }, null, true],
  ['3.0.3', { oneOf: [a], nullable: true }, null, true],
  ['3.1.0', { anyOf: [a, { type: 'null' }] }, null, true],
  ['3.1.0', false, null, false],
  ['3.0.3', { not: {} }, null, false],
  ['3.1.0', { not: { minimum: 1 } }, null, false],
  ['3.1.0', { type: ['string', 'null'], not: { type: 'null' } }, null, false],
  ['3.0.3', { multipleOf: 0.01 }, 19.99, true],
  ['3.0.3', { type: 'object', required: ['constructor'] }, {}, false],
  ['3.1.0', { items: [a], additionalItems: false }, ['a', 'b'], false],
  ['3.1.0', { type: ['string', 'unknown'] }, 'a', true],
])('%s: all readers agree about %j: %j is valid: %s', (openapi, schema, value, isValid) => {
  const { verdicts, acceptsNull } = readersOf({ openapi, schema, schemas: target });
  const answers = Object.entries(verdicts).map(([name, verdict]) => [name, verdict(value)]);
  expect(answers).toEqual(answers.map(([name]) => [name, isValid]));
  if (value === null) expect(acceptsNull).toBe(isValid);
});

it.each<[what: string, schema: unknown, value: unknown, valid: readonly (keyof typeof uses)[]]>([
  ['int64', { format: 'int64' }, 1e19, ['adapter', 'served']],
  ['int64', { format: 'int64' }, 2 ** 63, ['adapter', 'served', 'shadow', 'openShadow']],
  ['uuid', { format: 'uuid' }, 'urn:uuid:00000000-0000-4000-8000-000000000000', ['served']],
  ['date-time', { format: 'date-time' }, '2026-02-28T10:00:00+0100', ['served']],
  ['oneOf', { oneOf: [{ type: 'string' }, { maxLength: 1 }] }, 'a', ['shadow', 'openShadow']],
  [
    'oneOf below not',
    { not: { oneOf: [{ type: 'string' }, { maxLength: 1 }] } },
    'a',
    ['adapter', 'served', 'shadow', 'openShadow'],
  ],
  ['a closed object', { additionalProperties: false }, { a: 1 }, ['openShadow']],
  [
    'a closed object below not',
    { not: { additionalProperties: false } },
    { a: 1 },
    ['adapter', 'served', 'shadow', 'openShadow'],
  ],
])('the readers differ about %s as their policies say: %j and %j', (_what, schema, value, valid) => {
  const { verdicts } = readersOf({ openapi: '3.1.0', schema, schemas: target });
  expect(Object.entries(verdicts).flatMap(([name, verdict]) => (verdict(value) ? [name] : []))).toEqual(valid);
});

/** Whether a schema has no `type`, and keywords of objects. A comparison of contracts reads it as a schema of objects. */
function impliesTypes(contract: RandomContract): boolean {
  let isFound = false;
  JSON.stringify(contract, (_key, one: unknown) => {
    const keys = typeof one === 'object' && one !== null ? Object.keys(one) : [];
    if (!keys.includes('type') && /properties|required|items/i.test(keys.join())) isFound = true;
    return one;
  });
  return isFound;
}

function hasTypeOf(value: unknown, types: ReadonlySet<string>): boolean {
  if (value === null) return types.has('null');
  if (typeof value !== 'number') return types.has(Array.isArray(value) ? 'array' : typeof value);
  return types.has('number') || (Number.isInteger(value) && types.has('integer'));
}

/** Any value, if there are too many alternatives to be followed. */
function orAny(find: () => readonly PlainSchema[]): readonly PlainSchema[] {
  try {
    return find();
  } catch (error) {
    if (error instanceof TooManyAlternatives) return [{}];
    throw error;
  }
}
