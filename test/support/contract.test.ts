import { expect, it } from 'vitest';
import { Contract } from './contract.ts';

// The services' own tests expect no faults; these show that a fault would be seen.
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
  ['nothing in a kept word', 200, json, mojito, []],
  ['nothing in an unknown field', 200, json, { ...mojito, glass: 'highball' }, []],
  ['an undeclared status', 410, json, mojito, ['GET /drinks/{id} 410 is not declared']],
  [
    'another content type',
    200,
    { ...json, 'content-type': 'text/html' },
    mojito,
    ['content type text/html is not declared'],
  ],
  ['a missing header', 200, { 'content-type': 'application/json' }, mojito, ['ETag is missing']],
  ['an unreadable header', 200, { ...json, etag: '7' }, mojito, ['ETag:  must match pattern "^""']],
  ['a field of another type', 200, json, { ...mojito, price: 8.5 }, ['/price must be string']],
  ['a missing field', 200, json, { title: 'Mojito' }, [" must have required property 'price'"]],
  ['a body where none belongs', 304, {}, mojito, ['there is a body where none is declared']],
])('sees %s', (_what, status, headers, body, faults) => {
  const answer = { status, headers: new Headers(headers), text: JSON.stringify(body) };
  expect(contract.faults('GET /drinks/{id}', answer)).toEqual(faults);
});

it('sees an example that does not fit', () => {
  expect(contract.wrongExamples()).toEqual(["GET /drinks/{id}:  must have required property 'price'"]);
});
