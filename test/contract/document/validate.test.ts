import { expect, it } from 'vitest';
import { parseFile } from '../../../gateway/contract/document/contractFiles.ts';
import { Documents } from '../../../gateway/contract/document/documents.ts';
import { pointerOf } from '../../../gateway/contract/document/located.ts';
import { contractFaults } from '../../../gateway/contract/document/validate.ts';
import { CompareError } from '../../../gateway/contract/failure.ts';
import { randomFrom } from '../../support/random.ts';
import { randomJson } from './randomJson.ts';

const info = 'openapi: 3.1.0\ninfo: { title: Drinks, version: "1" }\n';

/** `pointer: message`. A second file, `y.yaml`, may be referred to. */
function faults(text: string, other = ''): string[] {
  const second = parseFile('y.yaml', other);
  const documents = new Documents(parseFile('x.yaml', text), (name) => {
    if (name === 'y.yaml') return second;
    throw new CompareError('x.yaml', `refers to ${name}, which is not here`, 'Correct it.');
  });
  const found = contractFaults(documents);
  for (const { remedy } of found) expect(remedy).toMatch(/\.$/);
  return found.map(({ where, message }) => `${where}: ${message}`);
}

it('finds no fault in a valid contract', () => {
  const text = `${info}
paths:
  /drinks/{id}:
    parameters: [{ $ref: '#/components/parameters/id' }]
    get:
      operationId: drink
      responses:
        default: { description: ok, content: { application/json: { schema: { $ref: '#/components/schemas/Drink' }, example: { $ref: none } } } }
webhooks:
  '{brewed}': { post: { responses: { '200': { description: ok } } } }
components:
  parameters:
    id: { name: id, in: path, required: true, schema: { type: [string, 'null'] } }
  securitySchemes: { key: { type: apiKey, in: header, name: k } }
  schemas:
    Drink:
      properties:
        type: { type: string, enum: [{ $ref: none }], default: { $ref: none }, examples: [{ $ref: none }] }
        example: { type: number }
        properties: { type: object, properties: { $ref: { type: string } } }
      x-note: { $ref: none, type: whatever }
`;
  expect(faults(text)).toEqual([]);
});

it.each([
  ['no info', 'openapi: 3.1.0\npaths: {}\n', ['x.yaml#/info: must have a title and a version, both strings']],
  ['neither paths nor webhooks', info, ['x.yaml#: has neither `paths` nor `webhooks`']],
  ['a path without a slash', `${info}paths: { drinks: {} }`, ['x.yaml#/paths/drinks: a path must begin with a slash']],
  [
    'paths that match the same requests',
    `${info}paths: { '/a/{x}': {}, '/a/{y}': {} }`,
    ['x.yaml#/paths/~1a~1{y}: is the same path as /a/{x}'],
  ],
  [
    'operations without responses in OpenAPI 3.0',
    `${info.replace('3.1.0', '3.0.3')}paths: { /a: { get: {}, post: { responses: {} } } }`,
    ['x.yaml#/paths/~1a/get: has no responses', 'x.yaml#/paths/~1a/post: has no responses'],
  ],
  [
    // In OpenAPI 3.1, `responses` may be absent, but not an empty map.
    'an empty map of responses',
    `${info}paths: { /a: { get: {}, post: { responses: {} } } }\nwebhooks: { w: { post: {} } }`,
    ['x.yaml#/paths/~1a/post: has no responses'],
  ],
  [
    'an operationId that is used twice',
    `${info}paths: { /a: { get: { operationId: a, responses: { 200: {} } }, put: { operationId: a, responses: { 200: {} } } } }`,
    ['x.yaml#/paths/~1a/put/operationId: the operationId "a" is used twice'],
  ],
  [
    'path parameters that are not declared, not in the path, or not required',
    `${info}paths:
  /a/{x}/{y}:
    parameters: [{ name: x, in: path, schema: {} }]
    get: { responses: { 200: {} }, parameters: [{ name: z, in: path, required: true, schema: {} }] }`,
    [
      'x.yaml#/paths/~1a~1{x}~1{y}/parameters/0: a path parameter is not required',
      'x.yaml#/paths/~1a~1{x}~1{y}/get: the path parameter {y} is not declared',
      'x.yaml#/paths/~1a~1{x}~1{y}/get/parameters/0: the path /a/{x}/{y} has no {z}',
    ],
  ],
  [
    'parameters with a missing, invalid or superfluous key',
    `${info}paths:
  /a:
    get:
      responses: { 200: {} }
      parameters: [{ name: b, in: body, schema: {} }, { name: c, schema: {} }, { name: d, in: query }, { in: query, schema: {}, content: {} }]`,
    [
      'x.yaml#/paths/~1a/get/parameters/0/in: "body" is not a parameter location',
      'x.yaml#/paths/~1a/get/parameters/1/in: nothing is not a parameter location',
      'x.yaml#/paths/~1a/get/parameters/2: a parameter has neither `schema` nor `content`',
      'x.yaml#/paths/~1a/get/parameters/3: a parameter has no name',
      'x.yaml#/paths/~1a/get/parameters/3: a parameter has both `schema` and `content`',
    ],
  ],
  [
    'invalid types',
    `${info}paths: {}\ncomponents: { schemas: { A: { type: text, properties: { b: { type: [string, nil] }, default: { type: 1 } } } } }`,
    [
      'x.yaml#/components/schemas/A/type: "text" is not a type',
      'x.yaml#/components/schemas/A/properties/b/type/1: "nil" is not a type',
      'x.yaml#/components/schemas/A/properties/default/type: 1 is not a type',
    ],
  ],
  [
    'broken $refs, used or not',
    `${info}paths: { /a: { $ref: '#/none' } }
components:
  responses: { A: { $ref: '#/components/responses/B' }, default: { $ref: z.yaml } }
  schemas: { A: { $ref: '#/components/schemas/A' } }`,
    [
      'x.yaml#/paths/~1a: refers to "#/none", which does not exist',
      'x.yaml#/components/responses/A: refers to "#/components/responses/B", which does not exist',
      'x.yaml: refers to z.yaml, which is not here',
      'x.yaml#/components/schemas/A: is a circular $ref',
    ],
  ],
] as [string, string, string[]][])('finds %s', (_what, text, expected) => {
  expect(faults(text)).toEqual(expected);
});

it('checks the parts of other files that the contract uses', () => {
  const text = `${info}paths: {}\ncomponents: { schemas: { A: { $ref: 'y.yaml#/A' } } }`;
  const other = 'A: { type: text, items: { $ref: "#/B" } }\nB: { $ref: "#/C" }\nD: { type: text }\n';
  expect(faults(text, other)).toEqual([
    'y.yaml#/B: refers to "#/C", which does not exist',
    'y.yaml#/A/type: "text" is not a type',
  ]);
});

it('finds the repeated keys of a JSON map, and no others', () => {
  const text = `{"openapi":"3.1.0","info":{"title":"}","version":"{\\"title\\":"},
    "paths":{"/a":{},"/b":{}, "x-list":[{"c":1},{"c":2},"c","c",{"d":["c"],"c":[]}]},
    "x-\\u0061":{"e":{"f":1, "g":"f","f":2}},"x-a":1}`;
  const found = contractFaults(new Documents(parseFile('x.json', text), () => parseFile('none', '')));
  expect(found.map(({ where, message, place }) => [where, message, pointerOf(place)])).toEqual([
    ['x.json:3:37', 'has the key "f" here for the second time', '/x-a/e/f'],
    ['x.json:3:45', 'has the key "x-a" here for the second time', '/x-a'],
  ]);
});

it('finds in random JSON only the repeated keys that were added', () => {
  const random = randomFrom(11);
  for (let round = 0; round < 300; round += 1) {
    const text = randomJson(random);
    const twice = text.replace(/\}\s*$/, ',"k1":0}');
    const found = [text, twice].map((one) =>
      contractFaults(new Documents(parseFile('x.json', one), () => parseFile('none', ''))),
    );
    const counts = found.map((faults) => faults.filter(({ message }) => message.includes('second time')).length);
    expect(counts, twice).toEqual([0, 1]);
  }
});
