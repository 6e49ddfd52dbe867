import { expect, it } from 'vitest';
import { createApp } from '../../../services/v1/app.ts';
import { Contract } from '../../support/contract.ts';
import { ifNoneMatch, post, start } from '../start.ts';

const contract = Contract.read('services/v1/contract/openapi.yaml');
const ladyDraft = {
  title: 'White Lady',
  base: 'gin',
  price: '9.00',
  ingredients: ['gin', 'triple sec', 'lemon juice'],
};
const current = ifNoneMatch('*');

const exchanges: [name: string, path: string, init?: RequestInit][] = [
  ['GET /cocktails 200', '/cocktails'],
  ['GET /cocktails 200', '/cocktails?base=gin&limit=1'],
  ['GET /cocktails 200', '/cocktails', { headers: { cookie: 'a=b; last_seen=10' } }],
  ['GET /cocktails 200', '/cocktails?later=unknown'],
  ['GET /cocktails 304', '/cocktails', current],
  ['GET /cocktails 400', '/cocktails?base=absinthe'],
  ['GET /cocktails 400', '/cocktails?base='],
  ['GET /cocktails 400', '/cocktails?base=gin&base=rum'],
  ['GET /cocktails 400', '/cocktails?limit=0'],
  ['GET /cocktails 400', '/cocktails?limit=51'],
  ['GET /cocktails 400', '/cocktails?limit=2.5'],
  ['GET /cocktails 400', '/cocktails?cursor=-1'],
  ['POST /cocktails 201', '/cocktails', post(ladyDraft)],
  ['POST /cocktails 400', '/cocktails', post({ ...ladyDraft, price: 9 })],
  ['POST /cocktails 400', '/cocktails', post('{"title":')],
  ['POST /cocktails 400', '/cocktails', post('[]')],
  ['POST /cocktails 400', '/cocktails', post('')],
  ['POST /cocktails 413', '/cocktails', post({ ...ladyDraft, title: 'a'.repeat(16_384) })],
  ['POST /cocktails 415', '/cocktails', post(ladyDraft, 'text/plain')],
  ['GET /drinks/{id} 200', '/drinks/7'],
  ['GET /drinks/{id} 304', '/drinks/7', current],
  ['GET /drinks/{id} 400', '/drinks/mojito'],
  ['GET /drinks/{id} 400', '/drinks/%zz'],
  ['GET /drinks/{id} 404', '/drinks/999'],
  ['GET /ingredients 200', '/ingredients'],
  ['GET /ingredients 200', '/ingredients?base=tequila'],
  ['GET /ingredients 304', '/ingredients', current],
  ['GET /ingredients 400', '/ingredients?base=absinthe'],
  ['GET /legacy-search 200', '/legacy-search?q=MULE'],
  ['GET /legacy-search 304', '/legacy-search?q=mule', current],
  ['GET /legacy-search 400', '/legacy-search'],
  ['GET /health 200', '/health'],
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
  [
    'at every bound',
    { title: 'é'.repeat(80), base: 'rum', price: '999.99', ingredients: Array(20).fill('x'.repeat(60)) },
  ],
  ['with characters of two units', { ...ladyDraft, title: '🍸'.repeat(80) }],
  ['with an unknown field', { ...ladyDraft, mood: 'blue' }],
  ['without a title', { ...ladyDraft, title: undefined }],
  ['with a blank title', { ...ladyDraft, title: '  ' }],
  ['with a too long title', { ...ladyDraft, title: 'x'.repeat(81) }],
  ['with an unknown base', { ...ladyDraft, base: 'absinthe' }],
  ['with a number as its price', { ...ladyDraft, price: 9 }],
  ['with a price without places', { ...ladyDraft, price: '9' }],
  ['with a price that is too high', { ...ladyDraft, price: '1000.00' }],
  ['without ingredients', { ...ladyDraft, ingredients: [] }],
  ['with too many ingredients', { ...ladyDraft, ingredients: Array(21).fill('x') }],
  ['with an ingredient that is not a string', { ...ladyDraft, ingredients: ['gin', 7] }],
])('accepts a cocktail if and only if the contract does: %s', async (_what, draft) => {
  const service = await start(createApp());
  const { status } = await service.ask('/cocktails', post(draft));
  expect(status).toBe(contract.accepts('POST /cocktails', draft) ? 201 : 400);
});

it('accepts the largest cocktail with every character escaped', async () => {
  const service = await start(createApp());
  const escaped = (length: number) => '\\ud83c\\udf78'.repeat(length);
  const ingredients = Array(20).fill(`"${escaped(60)}"`);
  const text = `{"title":"${escaped(80)}","base":"gin","price":"999.99","ingredients":[${ingredients}]}`;
  expect((await service.ask('/cocktails', post(text))).status).toBe(201);
});
