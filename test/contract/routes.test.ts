import { describe, expect, it } from 'vitest';
import { pointerOf } from '../../gateway/contract/document/located.ts';
import { compareContracts, type Versions } from '../../gateway/contracts/compat/diff/contracts.ts';
import { findingsOf } from '../../gateway/contracts/compat/judge/findings.ts';
import { defaultLevelOf } from '../../gateway/contracts/compat/rules/rules.ts';
import { documentsOf, type Json } from '../contracts/compat/support/comparing.ts';

type Server = string | Json;

function contract(servers: readonly Server[] | undefined, paths: readonly string[] = ['/drinks', '/bars']): Json {
  const item = { get: { responses: { 200: { description: 'fine' } } } };
  return {
    openapi: '3.1.0',
    info: { title: 'drinks', version: '1.0.0' },
    ...(servers && { servers: servers.map((one) => (typeof one === 'string' ? { url: one } : one)) }),
    paths: Object.fromEntries(paths.map((path) => [path, item])),
  };
}

function told(old: Json, now: Json, versions?: Versions): string[] {
  return findingsOf(compareContracts(documentsOf(old), documentsOf(now), defaultLevelOf, versions))
    .filter(({ level }) => level !== 'info')
    .map(({ rule, sentence, routes }) => `${rule} ${sentence} ${routes.length}`);
}

const base = { url: '/{base}', variables: { base: { default: 'v1' } } };
const list = ['https://a.example/v1', 'https://a.example/old'];

describe('the base path of the servers', () => {
  it.each<[string, readonly Server[], readonly Server[] | undefined, string]>([
    ['another one', ['https://a.example/v1'], ['https://a.example/v2'], '`/v1` → `/v2`'],
    ['one where there was none', ['https://a.example/'], ['https://a.example/v1'], '`/` → `/v1`'],
    ['none', ['//a.example/v1'], ['https://a.example'], '`/v1` → `/`'],
    ['a relative one', ['/v1'], ['v2/'], '`/v1` → `/v2`'],
    ['the default of a variable', [base], ['/v2'], '`/v1` → `/v2`'],
    ['one of two at the same host', list, ['https://a.example/v1'], '`/old` → `/v1`'],
    ['only local ones', ['http://localhost:80/v1'], ['http://127.0.0.1/v2'], '`/v1` → `/v2`'],
    ['the list is gone', ['https://a.example/v1'], undefined, '`/v1` → `/`'],
    ['the list is empty', ['/v1'], [], '`/v1` → `/`'],
    ['a list of two is gone', ['https://a.example', 'https://a.example/v1'], undefined, '`/v1` → `/`'],
    ['a list of none but local ones is gone', ['http://localhost/v1'], undefined, '`/v1` → `/`'],
  ])('changes for every route: %s', (_name, old, now, bases) => {
    expect(told(contract(old), contract(now))).toEqual([
      `route-removed GET /drinks has another base path (${bases}) 2`,
    ]);
  });

  it.each<[string, readonly Server[] | undefined, readonly Server[] | undefined]>([
    ['another host', ['https://a.example/v1'], ['http://b.example:8080/v1/']],
    ['a host for every environment', ['http://localhost:8000/'], ['https://a.example']],
    ['a local one beside others', ['http://localhost:8000/', '/v1'], ['https://a.example/v1']],
    ['only a local one, then others', ['http://localhost:8000/'], ['https://a.example/v1']],
    ['one added', ['/v1'], ['/v1', '/v2']],
    ['one environment removed', ['https://a.example/v1', 'https://b.example/stage/v1'], ['https://a.example/v1']],
    ['none so far', undefined, ['/v1']],
    ['a list with the default is removed', ['https://a.example/'], undefined],
    ['a list with several environments is removed', ['https://a.example/', 'https://b.example/v1'], []],
    ['a variable in place of its default', ['/v1'], [base]],
    ['the folder itself', ['./'], ['/']],
    ['an invalid URL', ['/'], [{ url: 7 }]],
  ])('does not change: %s', (_name, old, now) => {
    expect(told(contract(old), contract(now))).toEqual([]);
  });

  it.each<[string, readonly Server[] | undefined, readonly Server[]]>([
    ['another list', ['/'], ['/v1']],
    ['no list', undefined, ['/v1']],
    ['no list, and a host', undefined, ['https://a.example/v1']],
    ['an empty list, and two hosts', [], ['https://a.example/v1', 'https://b.example/v1']],
  ])('may move into the paths and back: %s', (_name, none, some) => {
    const [inPaths, inServers] = [contract(none, ['/v1/drinks', '/v1/bars']), contract(some)];
    expect([told(inPaths, inServers), told(inServers, inPaths)]).toEqual([[], []]);
  });

  it.each<[string, readonly Server[] | undefined]>([
    ['a list', ['/']],
    ['no list', undefined],
  ])('may move into the paths where another route takes the old path: %s', (_name, none) => {
    expect(told(contract(['/v1'], ['/drinks']), contract(none, ['/drinks', '/v1/drinks']))).toEqual([]);
  });

  it('does not make /drinks match /v1/drinks below the server /v1', () => {
    const [old, now] = [contract(undefined, ['/drinks']), contract(['/v1'], ['/v1/drinks'])];
    expect(told(old, now)).toEqual(['route-removed GET /drinks was removed 1']);
  });

  it('is that of the operation, or else of its path item', () => {
    const item = { get: { responses: { 200: { description: 'fine' } } }, servers: [{ url: '/v1' }] };
    const old = { ...contract(['/other']), paths: { '/drinks': item } };
    expect(told(old, contract(['/v1'], ['/drinks']))).toEqual([]);
    expect(told(old, contract(['/other'], ['/drinks']))).toHaveLength(1);
  });

  it('may end in the version, if the version is known', () => {
    const [old, now] = [contract(['https://a.example/api/v1']), contract(['https://a.example/api/v2'])];
    expect(told(old, now, { old: 'v1', new: 'v2' })).toEqual([]);
    expect(told(old, now)).toHaveLength(1);
  });

  it('may be just the version, in the list of servers or in the paths', () => {
    const [listed, written] = [contract(['https://a.example/v1']), contract(undefined, ['/v1/drinks', '/v1/bars'])];
    const versions = { old: 'v1', new: 'v1' };
    for (const now of [contract(undefined), written]) expect(told(listed, now, versions)).toEqual([]);
    for (const old of [contract(undefined), written]) expect(told(old, listed, versions)).toEqual([]);
  });

  it('does not match a path that was removed without a successor', () => {
    const [old, now] = [contract(['/api'], ['/drinks']), contract(undefined, ['/api'])];
    const versions: Versions = { old: 'v1', new: 'v2', moved: () => null };
    expect(told(old, now, versions)).toEqual(['route-removed GET /drinks was removed 1']);
  });

  it('is reported at its place in the old contract if the new one lists no servers', () => {
    const [old, now] = [contract(['/v1']), contract(undefined)];
    const [finding] = findingsOf(compareContracts(documentsOf(old), documentsOf(now), defaultLevelOf));
    expect([finding?.old && pointerOf(finding.old.place), finding?.new]).toEqual(['/servers', undefined]);
  });
});
