import { expect, it } from 'vitest';
import { UnlistedVersions } from '../../../gateway/usage/counting/unlistedVersions.ts';
import { hourMs, noon } from '../model.ts';

it.each([
  ['/v7', '', { version: 'v7', resource: '' }],
  ['/v7/drinks/1', '', { version: 'v7', resource: '/drinks/1' }],
  ['/v0/x', '', { version: 'v0', resource: '/x' }],
  ['/v999/x', '', { version: 'v999', resource: '/x' }],
  ['/api/v7/x', '/api', { version: 'v7', resource: '/x' }],
  ['/v7/x', '/api', undefined],
  ['/apiv7/x', '/api', undefined],
  ['/v1000/x', '', undefined],
  ['/v07/x', '', undefined],
  ['/V7/x', '', undefined],
  ['/v7x', '', undefined],
  ['/v7.1/x', '', undefined],
  ['//v7/x', '', undefined],
  ['', '', undefined],
])('%s below %j', (path, basePath, expected) => {
  expect(new UnlistedVersions().find(path, basePath, noon)).toEqual(expected);
});

it('has a hundred names an hour', () => {
  const unlisted = new UnlistedVersions();
  const names = Array.from({ length: 300 }, (_one, n) => unlisted.find(`/v${n}`, '', noon)?.version);
  expect(names.filter((name) => name !== undefined)).toHaveLength(100);
  expect(unlisted.find('/v99', '', noon)?.version).toBe('v99');
  expect(unlisted.find('/v299', '', noon)).toBeUndefined();
  expect(unlisted.find('/v299', '', noon + hourMs)?.version).toBe('v299');
});

it('does not start a new hour when a stream of the last one ends', () => {
  const unlisted = new UnlistedVersions();
  for (let n = 0; n < 100; n++) unlisted.find(`/v${n}`, '', noon);
  expect(unlisted.find('/v1', '', noon - hourMs)?.version).toBe('v1');
  expect(unlisted.find('/v299', '', noon)).toBeUndefined();
});
