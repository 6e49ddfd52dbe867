import { describe, expect, it } from 'vitest';
import { findingsOf } from '../../gateway/compat/findings.ts';
import { compareContracts, type Versions } from '../../gateway/compat/walk/compareContracts.ts';
import { documentsOf, type Json } from './support/comparing.ts';

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
  return findingsOf(compareContracts(documentsOf(old), documentsOf(now), versions))
    .filter(({ level }) => level !== 'info')
    .map(({ rule, sentence, routes }) => `${rule} ${sentence} ${routes.length}`);
}

const base = { url: '/{base}', variables: { base: { default: 'v1' } } };
const list = ['https://a.example/v1', 'https://a.example/old'];

describe('the base path of the servers', () => {
  it.each<[string, readonly Server[], readonly Server[], string]>([
    ['another one', ['https://a.example/v1'], ['https://a.example/v2'], '`/v1` → `/v2`'],
    ['one where there was none', ['https://a.example/'], ['https://a.example/v1'], '`/` → `/v1`'],
    ['none any more', ['//a.example/v1'], ['https://a.example'], '`/v1` → `/`'],
    ['a relative one', ['/v1'], ['v2/'], '`/v1` → `/v2`'],
    ['the default of a variable', [base], ['/v2'], '`/v1` → `/v2`'],
    ['one of two at the same host', list, ['https://a.example/v1'], '`/old` → `/v1`'],
    ['only local ones', ['http://localhost:80/v1'], ['http://127.0.0.1/v2'], '`/v1` → `/v2`'],
  ])('is another one for every route: %s', (_name, old, now, bases) => {
    expect(told(contract(old), contract(now))).toEqual([
      `route-removed GET /drinks has another base path (${bases}) 2`,
    ]);
  });

  it.each<[string, readonly Server[] | undefined, readonly Server[] | undefined]>([
    ['another host', ['https://a.example/v1'], ['http://b.example:8080/v1/']],
    ['a host for every environment', ['http://localhost:8000/'], ['https://a.example']],
    ['a local one beside others', ['http://localhost:8000/', '/v1'], ['https://a.example/v1']],
    ['nothing but a local one, and others now', ['http://localhost:8000/'], ['https://a.example/v1']],
    ['one more', ['/v1'], ['/v1', '/v2']],
    ['an environment less', ['https://a.example/v1', 'https://b.example/stage/v1'], ['https://a.example/v1']],
    ['none so far', undefined, ['/v1']],
    ['none any more', ['/v1'], []],
    ['a variable in place of what it stands for', ['/v1'], [base]],
    ['the folder itself', ['./'], ['/']],
    ['what is no URL', ['/'], [{ url: 7 }]],
  ])('is as it was: %s', (_name, old, now) => {
    expect(told(contract(old), contract(now))).toEqual([]);
  });

  it('may move into the paths, and out of them', () => {
    const [inPaths, inServers] = [contract(['/'], ['/v1/drinks', '/v1/bars']), contract(['/v1'])];
    expect([told(inPaths, inServers), told(inServers, inPaths)]).toEqual([[], []]);
  });

  it('is that of the operation, or else of its path', () => {
    const item = { get: { responses: { 200: { description: 'fine' } } }, servers: [{ url: '/v1' }] };
    const old = { ...contract(['/other']), paths: { '/drinks': item } };
    expect(told(old, contract(['/v1'], ['/drinks']))).toEqual([]);
    expect(told(old, contract(['/other'], ['/drinks']))).toHaveLength(1);
  });

  it('may end in the version, wherever that is known', () => {
    const [old, now] = [contract(['https://a.example/api/v1']), contract(['https://a.example/api/v2'])];
    expect(told(old, now, { old: 'v1', new: 'v2' })).toEqual([]);
    expect(told(old, now)).toHaveLength(1);
  });
});
