import { describe, expect, it } from 'vitest';
import { PathTable } from '../../../gateway/shared/pathTable.ts';
import { foldPath, RouteNames } from '../../../gateway/usage/counting/routeNames.ts';

describe('a path', () => {
  it.each([
    ['/', '/'],
    ['', '/'],
    ['/drinks', '/drinks'],
    ['/drinks/17', '/drinks/{}'],
    ['/drinks/17/', '/drinks/{}/'],
    ['/drinks/17.json', '/drinks/{}.json'],
    ['/drinks/mojito', '/drinks/mojito'],
    ['/oauth2/token', '/oauth2/token'],
    ['/password-reset-confirmations', '/password-reset-confirmations'],
    ['/api-docs/openapi.json', '/api-docs/openapi.json'],
    ['/a/3fa85f64-5717-4562-b3fc-2c963f66afa6', '/a/{}'],
    ['/a/2026-11-21', '/a/{}'],
    ['/a/2026-11-21T10:00:00Z', '/a/{}'],
    ['/a/507f1f77bcf86cd799439011', '/a/{}'],
    ['/a/deadbeef1', '/a/{}'],
    ['/a/01ARZ3NDEKTSV4RRFFQ69G5FAV', '/a/{}'],
    ['/a/cus_9s6XKzkNRiz8i3', '/a/{}'],
    ['/a/dQw4w9WgXcQ', '/a/{}'],
    ['/a/order-7', '/a/{}'],
    ['/a/-12.5', '/a/{}'],
    ['/a/ann@example.org', '/a/{}'],
    ['/a/ann%40example.org', '/a/{}'],
    ['/a/%3Cscript%3E', '/a/{}'],
    ['/a/<b>', '/a/{}'],
    ['/a/\x1b[31m', '/a/{}'],
    [`/a/${'x'.repeat(5_000)}`, '/a/{}'],
    ['/1/2/3/4/5/6/7/8/9/10', '/{}/{}/{}/{}/{}/{}/{}/{}/{}/{}'],
    ['/1/2/3/4/5/6/7/8/9/10/11/12', '/{}/{}/{}/{}/{}/{}/{}/{}/{}/{}/*'],
  ])('%j folds to %s', (path, expected) => {
    expect(foldPath(path)).toBe(expected);
  });

  it('is short and safe to print, whatever it was', () => {
    for (let code = 0; code < 256; code++) {
      const folded = foldPath(`/a${String.fromCharCode(code).repeat(9)}`.repeat(500));
      expect(folded).toMatch(/^[\w.~:+$/{}*-]{1,410}$/);
    }
  });
});

describe('the names of routes', () => {
  const drinks = new PathTable<true>([
    ['/drinks/{id}', true],
    ['/drinks/random', true],
  ]);

  it('are those of the contract, if it has the path', () => {
    const names = new RouteNames(10);
    expect(names.nameOf('GET', '/drinks/mojito', drinks, 200)).toBe('GET /drinks/{id}');
    expect(names.nameOf('GET', '/drinks/random', drinks, 200)).toBe('GET /drinks/random');
    expect(names.nameOf('GET', '/glasses/4', drinks, 404)).toBe('GET /glasses/{}');
  });

  it('follow another contract', () => {
    const names = new RouteNames(10);
    expect(names.nameOf('GET', '/drinks/mojito', undefined, 200)).toBe('GET /drinks/mojito');
    expect(names.nameOf('GET', '/drinks/mojito', drinks, 200)).toBe('GET /drinks/{id}');
  });

  it('are limited', () => {
    const names = new RouteNames(3);
    const asked = ['/a', '/b', '/c', '/d', '/e', '/a', '/d'].map((path) => names.nameOf('GET', path, undefined, 200));
    expect(asked).toEqual(['GET /a', 'GET /b', 'GET /c', 'other', 'other', 'GET /a', 'other']);
  });

  it('stay available for existing routes during a scan', () => {
    const names = new RouteNames(10);
    const scanned = Array.from({ length: 20 }, (_one, n) =>
      names.nameOf('GET', `/scan${'x'.repeat(n)}`, undefined, 404),
    );
    expect(new Set(scanned).size).toBe(6);
    expect(names.nameOf('GET', `/scan${'x'.repeat(19)}`, undefined, 200)).toBe(`GET /scan${'x'.repeat(19)}`);
  });

  it.each(['get', 'A'.repeat(1_000), '<b>', ''])('replace the unusual method %j by OTHER', (method) => {
    expect(new RouteNames(3).nameOf(method, '/a', undefined, 501)).toBe('OTHER /a');
  });

  it('survive a flood of methods', () => {
    const names = new RouteNames(3);
    for (let n = 0; n < 1_000; n++) names.nameOf(`M${n}`, '/a', undefined, 501);
    expect(names.nameOf('GET', '/a', undefined, 200)).toBe('GET /a');
  });
});
