import { expect, it } from 'vitest';
import { type MovedProposals, proposeMoved } from '../../../../gateway/contracts/compat/judge/moved.ts';
import { done, giving, object } from '../guide/contracts.ts';
import { documentsOf, type Json } from '../support/comparing.ts';

const string = { type: 'string' };
const id = { name: 'id', in: 'path', required: true, schema: string };

function proposals(old: Json, now: Json, listed: readonly string[] = []): MovedProposals {
  const documents = (paths: Json) => documentsOf({ openapi: '3.1.0', info: { title: 't', version: '1' }, paths });
  return proposeMoved({
    oldContract: documents(old),
    newContract: documents(now),
    from: 'v1',
    to: 'v2',
    isListed: (path) => listed.includes(path),
  });
}

function pairs({ proposals: found }: MovedProposals): string[][] {
  return found.map(({ from, to, confidence }) => [from, to, confidence]);
}

const drink = giving(object({ id: string, title: string, price: string }), undefined, { parameters: [id] });
const cocktail = giving(object({ id: string, name: string, price: string }), undefined, { parameters: [id] });

const named = { operationId: 'same', ...done };

it('proposes a path with the same operationId', () => {
  const found = proposals(
    { '/a/{id}': { get: { operationId: 'getIt', parameters: [id], ...done } } },
    { '/zzz/{key}': { get: { operationId: 'getIt', parameters: [{ ...id, name: 'key' }], ...done } } },
  );
  expect(pairs(found)).toEqual([['/a/{id}', '/zzz/{key}', 'almost sure']]);
  expect(found.proposals[0]?.why).toContain('the same operationId getIt');
});

it('takes the segment of a version of an API from the paths of its contract', () => {
  const paths = (prefix: string) => ({ [`${prefix}/drinks`]: { get: drink } });
  const [oldContract, newContract] = ['/v1', '/v2'].map((prefix) =>
    documentsOf({ openapi: '3.1.0', info: { title: 't', version: '1' }, paths: paths(prefix) }),
  );
  if (!oldContract || !newContract) throw new Error('No contracts.');
  const found = proposeMoved({ oldContract, newContract, from: 'orders/v1', to: 'orders/v2', isListed: () => false });
  expect(found).toEqual({ proposals: [], unmatched: [] });
});

it('proposes a path with nearly the same parameters and fields', () => {
  const found = proposals({ '/drinks/{id}': { get: drink } }, { '/cocktails/{id}': { get: cocktail } });
  expect(pairs(found)).toEqual([['/drinks/{id}', '/cocktails/{id}', 'a guess']]);
  expect(found.proposals[0]?.why).toEqual(['the same parameters', '2 of 3 fields']);
});

it('proposes each path once, for the more similar one', () => {
  const found = proposals(
    {
      '/drinks/{id}': { get: drink },
      '/bars/{id}': { get: giving(object({ street: string }), undefined, { parameters: [id] }) },
    },
    { '/cocktails/{id}': { get: cocktail } },
  );
  expect([pairs(found), found.unmatched]).toEqual([[['/drinks/{id}', '/cocktails/{id}', 'a guess']], ['/bars/{id}']]);
});

it.each([
  ['needs a parameter that the old one lacks', { '/drinks': { get: named } }, { '/drinks/{id}': { get: named } }],
  ['has another method', { '/drinks': { get: done } }, { '/drink': { post: done } }],
  [
    'has nothing in common',
    { '/search': { get: giving(object({ hits: string })) } },
    { '/bars': { get: giving(object({ street: string })) } },
  ],
])('does not propose a path that %s', (_why, old, now) => {
  expect(proposals(old, now)).toEqual({ proposals: [], unmatched: [Object.keys(old)[0]] });
});

it('skips paths that did not move or are listed already', () => {
  const now = { '/kept': { get: done }, '/drinks/{key}': { get: drink }, '/cocktails/{id}': { get: cocktail } };
  expect(proposals({ '/kept': { get: done }, '/drinks/{id}': { get: drink } }, now)).toEqual({
    proposals: [],
    unmatched: [],
  });
  expect(proposals({ '/gone/{id}': { get: drink } }, now, ['/gone/{id}'])).toEqual({ proposals: [], unmatched: [] });
});

it('ignores the version at the start of a path', () => {
  const found = proposals({ '/v1/kept': { get: done } }, { '/kept': { get: done } });
  expect(found).toEqual({ proposals: [], unmatched: [] });
});

it('names the path whose schemas are nested too deeply', () => {
  let schema: Json = {};
  for (let depth = 0; depth < 20_000; depth += 1) schema = { allOf: [schema] };
  expect(() => proposals({ '/deep': { get: giving(schema) } }, {})).toThrow(
    '/deep: has schemas that are nested too deeply',
  );
});
