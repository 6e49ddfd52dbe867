type Schema = Readonly<Record<string, unknown>> | boolean;

const text = { type: 'string' };
const one = { type: 'object', properties: { a: text }, required: ['a'] };
const two = { type: 'object', properties: { b: text }, required: ['b'] };
const list = { type: 'array', items: text };
const drink = { type: 'object', properties: { a: text, b: text } };
const choice = { oneOf: [{ $ref: '#/components/schemas/A' }, { $ref: '#/components/schemas/B' }] };
const told = (discriminator: object): Schema => ({ ...choice, discriminator: { propertyName: 't', ...discriminator } });

/** With `then`, which as a plain key would make it look like a promise. */
function branch(when: Schema, then: Schema): Schema {
  return Object.fromEntries([...Object.entries({ ...drink, if: when }), ['then', then]]);
}

/** The targets of the names in the contract. */
export const named = {
  A: { type: 'object', properties: { t: text, a: text } },
  B: { type: 'object', properties: { t: text, b: text } },
};

/** By keyword: a schema in which it matters, and the same with another value, or without it. */
export const keywords: Readonly<Record<string, readonly [old: Schema, now: Schema]>> = {
  $ref: [{ $ref: '#/components/schemas/A' }, { $ref: '#/components/schemas/B' }],
  type: [text, { type: 'integer' }],
  enum: [{ enum: ['a'] }, { enum: ['a', 'b'] }],
  const: [{ const: 'a' }, { const: 'b' }],
  default: [{ ...text, default: 'a' }, text],
  nullable: [text, { ...text, nullable: true }],
  title: [text, { ...text, title: 'x' }],
  description: [text, { ...text, description: 'x' }],
  deprecated: [text, { ...text, deprecated: true }],
  example: [text, { ...text, example: 'x' }],
  examples: [text, { ...text, examples: ['x'] }],
  externalDocs: [text, { ...text, externalDocs: { url: 'https://example.com' } }],
  $comment: [text, { ...text, $comment: 'x' }],
  format: [text, { ...text, format: 'uuid' }],
  pattern: [text, { ...text, pattern: '^a' }],
  minLength: [text, { ...text, minLength: 1 }],
  maxLength: [text, { ...text, maxLength: 1 }],
  contentEncoding: [text, { ...text, contentEncoding: 'base64' }],
  contentMediaType: [text, { ...text, contentMediaType: 'image/png' }],
  contentSchema: [text, { ...text, contentSchema: drink }],
  multipleOf: [{ type: 'number' }, { type: 'number', multipleOf: 2 }],
  minimum: [{ type: 'number' }, { type: 'number', minimum: 2 }],
  maximum: [{ type: 'number' }, { type: 'number', maximum: 2 }],
  exclusiveMinimum: [{ type: 'number' }, { type: 'number', exclusiveMinimum: 2 }],
  exclusiveMaximum: [{ type: 'number' }, { type: 'number', exclusiveMaximum: 2 }],
  items: [list, { type: 'array', items: { type: 'integer' } }],
  prefixItems: [{ type: 'array' }, { type: 'array', prefixItems: [text] }],
  unevaluatedItems: [
    { type: 'array', prefixItems: [text] },
    { type: 'array', prefixItems: [text], unevaluatedItems: false },
  ],
  minItems: [list, { ...list, minItems: 1 }],
  maxItems: [list, { ...list, maxItems: 1 }],
  uniqueItems: [list, { ...list, uniqueItems: true }],
  contains: [list, { ...list, contains: { const: 'a' } }],
  minContains: [
    { ...list, contains: { const: 'a' } },
    { ...list, contains: { const: 'a' }, minContains: 2 },
  ],
  maxContains: [
    { ...list, contains: { const: 'a' } },
    { ...list, contains: { const: 'a' }, maxContains: 2 },
  ],
  properties: [drink, { type: 'object', properties: { a: text } }],
  required: [drink, { ...drink, required: ['a'] }],
  additionalProperties: [drink, { ...drink, additionalProperties: false }],
  unevaluatedProperties: [drink, { ...drink, unevaluatedProperties: false }],
  patternProperties: [drink, { ...drink, patternProperties: { '^x': text } }],
  propertyNames: [drink, { ...drink, propertyNames: { maxLength: 3 } }],
  minProperties: [drink, { ...drink, minProperties: 1 }],
  maxProperties: [drink, { ...drink, maxProperties: 1 }],
  dependentRequired: [drink, { ...drink, dependentRequired: { a: ['b'] } }],
  dependentSchemas: [drink, { ...drink, dependentSchemas: { a: { required: ['b'] } } }],
  allOf: [{ allOf: [one, two] }, { allOf: [one] }],
  anyOf: [{ anyOf: [one, two] }, { anyOf: [one, two, text] }],
  oneOf: [{ oneOf: [one, two] }, { oneOf: [one, two, text] }],
  not: [drink, { ...drink, not: { required: ['a'] } }],
  'if.then': [branch({ required: ['a'] }, {}), branch({ required: ['a'] }, { required: ['b'] })],
  'if.else': [
    { ...drink, if: { required: ['a'] }, else: {} },
    { ...drink, if: { required: ['a'] }, else: { required: ['b'] } },
  ],
  if: [branch({ required: ['a'] }, { required: ['b'] }), branch({}, { required: ['b'] })],
  discriminator: [choice, told({})],
  'discriminator.propertyName': [told({}), told({ propertyName: 'u' })],
  'discriminator.mapping': [told({}), told({ mapping: { x: 'A' } })],
  'discriminator.defaultMapping': [told({ defaultMapping: 'A' }), told({ defaultMapping: 'B' })],
  readOnly: [drink, { ...drink, properties: { a: text, b: { ...text, readOnly: true } } }],
  writeOnly: [drink, { ...drink, properties: { a: text, b: { ...text, writeOnly: true } } }],
  ...Object.fromEntries(
    ['name', 'namespace', 'prefix', 'attribute', 'wrapped', 'nodeType'].map((key) => [
      `xml.${key}`,
      [text, { ...text, xml: { [key]: 'x' } }] as const,
    ]),
  ),
};
