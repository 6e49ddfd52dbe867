import { expect, it } from 'vitest';
import { createApp } from '../../../services/v2/app.ts';
import { Contract } from '../../support/contract.ts';
import { ifNoneMatch, post, start } from '../start.ts';

const contract = Contract.read('services/v2/contract/openapi.yaml');
const ladyDraft = {
  name: 'White Lady',
  base: 'gin',
  price: 9,
  ingredients: ['gin', 'triple sec', 'lemon juice'],
};
const current = ifNoneMatch('*');

const exchanges: [name: string, path: string, init?: RequestInit][] = [
  ['GET /cocktails 200', '/v2/cocktails'],
  ['GET /cocktails 200', '/v2/cocktails?base=gin&limit=1'],
  ['GET /cocktails 200', '/v2/cocktails', { headers: { cookie: 'a=b; last_seen=10' } }],
  ['GET /cocktails 200', '/v2/cocktails?later=unknown'],
  ['GET /cocktails 304', '/v2/cocktails', current],
  ['GET /cocktails 400', '/v2/cocktails?base=absinthe'],
  ['GET /cocktails 400', '/v2/cocktails?base='],
  ['GET /cocktails 400', '/v2/cocktails?base=gin&base=rum'],
  ['GET /cocktails 400', '/v2/cocktails?limit=0'],
  ['GET /cocktails 400', '/v2/cocktails?limit=51'],
  ['GET /cocktails 400', '/v2/cocktails?limit=2.5'],
  ['GET /cocktails 400', '/v2/cocktails?cursor=-1'],
  ['POST /cocktails 201', '/v2/cocktails', post(ladyDraft)],
  ['POST /cocktails 400', '/v2/cocktails', post({ ...ladyDraft, price: '9.00' })],
  ['POST /cocktails 400', '/v2/cocktails', post('{"name":')],
  ['POST /cocktails 400', '/v2/cocktails', post('[]')],
  ['POST /cocktails 400', '/v2/cocktails', post('')],
  ['POST /cocktails 413', '/v2/cocktails', post({ ...ladyDraft, name: 'a'.repeat(16_384) })],
  ['POST /cocktails 415', '/v2/cocktails', post(ladyDraft, 'text/plain')],
  ['GET /cocktails/{id} 200', '/v2/cocktails/7'],
  ['GET /cocktails/{id} 304', '/v2/cocktails/7', current],
  ['GET /cocktails/{id} 400', '/v2/cocktails/mojito'],
  ['GET /cocktails/{id} 400', '/v2/cocktails/%zz'],
  ['GET /cocktails/{id} 404', '/v2/cocktails/999'],
  ['GET /ingredients 200', '/v2/ingredients?base=tequila'],
  ['GET /ingredients 304', '/v2/ingredients?base=tequila', current],
  ['GET /ingredients 400', '/v2/ingredients'],
  ['GET /ingredients 400', '/v2/ingredients?base=absinthe'],
  ['GET /health 200', '/v2/health'],
];

it.each(exchanges)('%s is as declared: %s', async (name, path, init) => {
  const service = await start(createApp());
  const answer = await service.ask(path, init);
  const operation = name.slice(0, -4);
  expect(`${operation} ${answer.status}`).toBe(name);
  expect(contract.faults(operation, answer)).toEqual([]);
});

it('covers every status that the contract declares', () => {
  expect(new Set(exchanges.map(([name]) => name))).toEqual(new Set(contract.statuses()));
});

it('has valid examples', () => {
  expect(contract.invalidExamples()).toEqual([]);
});

it.each([
  ['at every bound', { name: 'é'.repeat(80), base: 'rum', price: 999.99, ingredients: Array(20).fill('x'.repeat(60)) }],
  ['with characters of two units', { ...ladyDraft, name: '🍸'.repeat(80) }],
  ['with an unknown field', { ...ladyDraft, mood: 'blue' }],
  ['without a glass', { ...ladyDraft, glass: undefined }],
  ['with null as its glass', { ...ladyDraft, glass: null }],
  ['with a too long glass', { ...ladyDraft, glass: 'x'.repeat(41) }],
  ['without a name', { ...ladyDraft, name: undefined }],
  ['with a blank name', { ...ladyDraft, name: '  ' }],
  ['with a too long name', { ...ladyDraft, name: 'x'.repeat(81) }],
  ['with an unknown base', { ...ladyDraft, base: 'absinthe' }],
  ['with text as its price', { ...ladyDraft, price: '9.00' }],
  ['with a negative price', { ...ladyDraft, price: -1 }],
  ['with a price that is too high', { ...ladyDraft, price: 1000 }],
  ['without ingredients', { ...ladyDraft, ingredients: [] }],
  ['with too many ingredients', { ...ladyDraft, ingredients: Array(21).fill('x') }],
  ['with an ingredient that is not a string', { ...ladyDraft, ingredients: ['gin', 7] }],
])('accepts a cocktail if and only if the contract does: %s', async (_what, draft) => {
  const service = await start(createApp());
  const { status } = await service.ask('/v2/cocktails', post(draft));
  expect(status).toBe(contract.accepts('POST /cocktails', draft) ? 201 : 400);
});

it('accepts the largest cocktail with every character escaped', async () => {
  const service = await start(createApp());
  const escaped = (length: number) => '\\ud83c\\udf78'.repeat(length);
  const ingredients = Array(20).fill(`"${escaped(60)}"`);
  const text = `{"name":"${escaped(80)}","base":"gin","price":999.99,"ingredients":[${ingredients}],"glass":"${escaped(40)}"}`;
  expect((await service.ask('/v2/cocktails', post(text))).status).toBe(201);
});
