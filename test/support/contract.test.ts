import { expect, it } from 'vitest';
import { Contract } from './contract.ts';

// The tests of the services expect no faults. These tests show that faults are found.
const contract = new Contract(`
openapi: 3.1.0
paths:
  /drinks/{id}:
    get:
      responses:
        '200':
          headers:
            ETag: { required: true, schema: { type: string, pattern: '^"' } }
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Drink' }
              example: { title: Mojito }
        '304': {}
components:
  schemas:
    Drink:
      type: object
      required: [title, price]
      properties: { title: { type: string }, price: { type: string } }
`);
const json = { 'content-type': 'application/json; charset=utf-8', etag: '"7"' };
const mojito = { title: 'Mojito', price: '8.50' };

it.each([
  ['no fault in a valid body', 200, json, mojito, []],
  ['no fault in an unknown field', 200, json, { ...mojito, glass: 'highball' }, []],
  ['an undeclared status', 410, json, mojito, ['GET /drinks/{id} 410 is not declared']],
  [
    'another content type',
    200,
    { ...json, 'content-type': 'text/html' },
    mojito,
    ['content type text/html is not declared'],
  ],
  ['a missing header', 200, { 'content-type': 'application/json' }, mojito, ['ETag is missing']],
  ['a malformed header', 200, { ...json, etag: '7' }, mojito, ['ETag:  must match pattern "^""']],
  ['a field of another type', 200, json, { ...mojito, price: 8.5 }, ['/price must be string']],
  ['a missing field', 200, json, { title: 'Mojito' }, [" must have required property 'price'"]],
  ['an undeclared body', 304, {}, mojito, ['the body is not declared']],
])('finds %s', (_fault, status, headers, body, faults) => {
  const response = { status, headers: new Headers(headers), text: JSON.stringify(body) };
  expect(contract.faults('GET /drinks/{id}', response)).toEqual(faults);
});

it('finds an example that does not match its schema', () => {
  expect(contract.invalidExamples()).toEqual(["GET /drinks/{id}:  must have required property 'price'"]);
});
