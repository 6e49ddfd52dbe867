import { describe, expect, it } from 'vitest';
import { hosts } from '../adapted.ts';
import { post } from '../start.ts';
import { contract, exchanges, isGone, ladyDraft } from './exchanges.ts';

it('covers every status that the contract declares', () => {
  expect(new Set(exchanges.map(([name]) => name))).toEqual(new Set(contract.statuses()));
});

it('has valid examples', () => {
  expect(contract.invalidExamples()).toEqual([]);
});

// The adapter makes a number of the price, and the number is valid in v2.
const acceptedByV2 = new Set(['with a number as its price', 'with a price without places']);

describe.each(hosts)('v1 $name', ({ use, isAdapted }) => {
  const startV1 = use();
  it.each(exchanges)('%s is as declared: %s', async (name, path, init) => {
    const service = await startV1();
    const answer = await service.ask(path, init);
    if (isAdapted && isGone(name)) {
      expect(JSON.parse(answer.text)).toMatchObject({ status: 410, code: 'ROUTE_NOT_ADAPTED' });
      return;
    }
    const operation = name.slice(0, -4);
    expect(`${operation} ${answer.status}`).toBe(name);
    expect(contract.faults(operation, answer)).toEqual([]);
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
  ])('accepts a cocktail if and only if the contract does: %s', async (what, draft) => {
    const service = await startV1();
    const { status } = await service.ask('/cocktails', post(draft));
    const isAccepted = contract.accepts('POST /cocktails', draft) || (isAdapted && acceptedByV2.has(what));
    expect(status).toBe(isAccepted ? 201 : 400);
  });

  it('accepts the largest cocktail with every character escaped', async () => {
    const service = await startV1();
    const escaped = (length: number) => '\\ud83c\\udf78'.repeat(length);
    const ingredients = Array(20).fill(`"${escaped(60)}"`);
    const text = `{"title":"${escaped(80)}","base":"gin","price":"999.99","ingredients":[${ingredients}]}`;
    expect((await service.ask('/cocktails', post(text))).status).toBe(201);
  });
});
