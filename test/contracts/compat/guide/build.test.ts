import { describe, expect, it } from 'vitest';
import { changeCount, isBreakingRoute } from '../../../../gateway/contracts/compat/guide/guide.ts';
import type { Json } from '../support/comparing.ts';
import { done, giving, guideBetween, object, only, onlyTopic, taking, texts } from './contracts.ts';

const string = { type: 'string' };
const number = { type: 'number' };

describe('the routes', () => {
  const drinks = { get: giving(object({ id: string })) };

  it('have a state, and those with the most work come first', () => {
    const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer' }, example: 7 };
    const guide = guideBetween(
      {
        paths: {
          '/same': drinks,
          '/more': drinks,
          '/old/{id}': { get: { parameters: [id], ...done } },
          '/less': drinks,
          '/search': { get: done },
        },
      },
      {
        paths: {
          '/same': drinks,
          '/more': { get: giving(object({ id: string, name: string })) },
          '/new/{key}': { get: { parameters: [{ ...id, name: 'key' }], ...done } },
          '/less': { get: giving(object({})) },
          '/fresh': { get: done },
        },
      },
      { '/old/{id}': '/new/{id}', '/search': null },
    );
    expect(
      guide.routes.map((route) => [route.old?.path, route.state, route.new?.path, isBreakingRoute(route)]),
    ).toEqual([
      ['/search', 'removed', undefined, true],
      ['/less', 'changed', '/less', true],
      ['/old/{id}', 'moved', '/new/{key}', false],
      ['/more', 'changed', '/more', false],
      [undefined, 'new', '/fresh', false],
      ['/same', 'unchanged', '/same', false],
    ]);
    expect(guide.routes[2]?.requestLine).toMatchObject({
      before: { text: 'GET /v1/old/7' },
      after: { text: 'GET /v2/new/7' },
    });
  });

  it('have their changes even if they moved', () => {
    const guide = guideBetween(
      { paths: { '/a': { get: giving(object({ price: string })) } } },
      { paths: { '/b': { get: giving(object({ price: number })) } } },
      { '/a': '/b' },
    );
    expect(guide.routes).toHaveLength(1);
    expect([only(guide).state, changeCount(only(guide))]).toEqual(['moved', 1]);
  });

  it('are removed if `moved` has null for them, even if the path still exists', () => {
    const guide = guideBetween({ paths: { '/a': { get: done } } }, { paths: { '/a': { get: done } } }, { '/a': null });
    expect(guide.routes.map(({ state }) => state)).toEqual(['removed', 'new']);
  });

  it('are unchanged if only a parameter name or a description changed', () => {
    const guide = guideBetween(
      { paths: { '/a/{id}': { get: { summary: 'One', ...done } } } },
      { paths: { '/a/{key}': { get: { summary: 'Another', ...done } } } },
    );
    expect(guide.routes.map(({ state }) => state)).toEqual(['unchanged']);
  });

  it('have unique anchors', () => {
    const guide = guideBetween(
      { paths: { '/a-b': { get: done }, '/a/b': { get: done }, '/ä': { get: done } } },
      { paths: {} },
    );
    expect(guide.routes.map(({ anchor }) => anchor)).toEqual(['get-a-b', 'get-a-b-2', 'get']);
  });
});

describe('a change', () => {
  it('of a type is shown by the values of the examples', () => {
    const guide = guideBetween(
      { paths: { '/a': { get: giving(object({ price: string }), { price: '9.50' }) } } },
      { paths: { '/a': { get: giving(object({ price: number }), { price: 9.5 }) } } },
    );
    expect(texts(onlyTopic(only(guide)))).toEqual([
      'field `price` was a string and is now a number: `"9.50"` before, `9.5` now',
    ]);
  });

  const old = object({ title: string, bar: string });
  const now = object({ name: string, bar: string });

  it('is a rename if the examples have the same value', () => {
    const guide = guideBetween(
      { paths: { '/a': { post: taking(old, { title: 'Negroni', bar: 'Ada' }) } } },
      { paths: { '/a': { post: taking(now, { name: 'Negroni', bar: 'Ada' }) } } },
    );
    const topic = onlyTopic(only(guide));
    expect(topic.changes).toEqual([
      { level: 'error', text: 'field `title` was removed; it looks renamed to `name`, which is required' },
    ]);
    expect(topic.sample).toEqual({
      language: 'json',
      before: { text: '{\n  "title": "Negroni"\n}', isGenerated: false },
      after: { text: '{\n  "name": "Negroni"\n}', isGenerated: false },
    });
  });

  it.each([
    ['the values differ', { title: 'Negroni' }, { name: 'Mojito' }],
    ['the value is not distinctive', { title: '' }, { name: '' }],
    ['only one contract has an example', { title: 'Negroni' }, undefined],
  ])('is not a rename if %s', (_why, before, after) => {
    const guide = guideBetween(
      { paths: { '/a': { get: giving(object({ title: string }), before) } } },
      { paths: { '/a': { get: giving(object({ name: string }), after) } } },
    );
    expect(texts(onlyTopic(only(guide)))).toEqual(['field `title` was removed']);
  });

  it('is not a rename if two fields have the value', () => {
    const guide = guideBetween(
      { paths: { '/a': { get: giving(object({ title: string }), { title: 'Negroni' }) } } },
      {
        paths: {
          '/a': { get: giving(object({ name: string, label: string }), { name: 'Negroni', label: 'Negroni' }) },
        },
      },
    );
    expect(texts(onlyTopic(only(guide)))).toEqual(['field `title` was removed']);
  });

  it('of a header is shown by the values of this header, and a change of the body by the values of the body', () => {
    const withExamples = (schema: Json, values: readonly unknown[]): { paths: Json } => {
      const [limit, page, body] = values.map((example) => ({ schema, example }));
      const headers = { 'X-Limit': limit, 'X-Page': page };
      const response = { description: 'fine', headers, content: { 'application/json': body } };
      return { paths: { '/a': { get: { responses: { 200: response } } } } };
    };
    const guide = guideBetween(withExamples(string, ['1', '2', '3']), withExamples(number, [1, 2, 3]));
    const topic = onlyTopic(only(guide));
    expect(texts(topic)).toEqual([
      'header `X-Limit` was a string and is now a number: `"1"` before, `1` now',
      'header `X-Page` was a string and is now a number: `"2"` before, `2` now',
      'it was a string and is now a number: `"3"` before, `3` now',
    ]);
    expect(topic.sample).toMatchObject({ before: { text: '"3"' }, after: { text: '3' } });
  });

  it('of headers is not a rename if only the bodies have the same value', () => {
    const withHeader = (name: string, schema: Json): { paths: Json } => {
      const media = { schema: object({ id: string }), example: { id: 'negroni' } };
      const response = { description: 'fine', headers: { [name]: { schema } }, content: { 'application/json': media } };
      return { paths: { '/a': { get: { responses: { 200: response } } } } };
    };
    const guide = guideBetween(withHeader('X-Trace', string), withHeader('Cache-Status', number));
    expect(onlyTopic(only(guide))).toMatchObject({
      changes: [{ text: 'header `X-Trace` was removed' }],
      additions: [{ text: 'header `Cache-Status` is new' }],
    });
  });

  it('of a required parameter is shown in the request line', () => {
    const base = { name: 'base', in: 'query', schema: { enum: ['a b', 'rum'] } };
    const guide = guideBetween(
      { paths: { '/a': { get: { parameters: [base], ...done } } } },
      { paths: { '/a': { get: { parameters: [{ ...base, required: true }], ...done } } } },
    );
    expect(texts(onlyTopic(only(guide)))).toEqual(['query parameter `base` is now required']);
    expect(only(guide).requestLine).toMatchObject({
      before: { text: 'GET /v1/a' },
      after: { text: 'GET /v2/a?base=a%20b' },
    });
  });

  it('of a parameter that the operation overrides is shown once in the request line', () => {
    const base = { name: 'base', in: 'query', required: true, example: 'gin' };
    const item = {
      parameters: [base, { ...base, name: 'lang' }],
      get: {
        parameters: [
          { ...base, example: 'rum' },
          { ...base, name: 'lang', required: false },
        ],
        ...done,
      },
    };
    const guide = guideBetween({ paths: { '/a': item } }, { paths: { '/b': item } }, { '/a': '/b' });
    expect(only(guide).requestLine).toMatchObject({
      before: { text: 'GET /v1/a?base=rum' },
      after: { text: 'GET /v2/b?base=rum' },
    });
  });

  it('that only adds something is listed apart', () => {
    const guide = guideBetween(
      { paths: { '/a': { get: giving(object({ id: string })) } } },
      { paths: { '/a': { get: giving(object({ id: string, glass: string })) } } },
    );
    expect(onlyTopic(only(guide))).toMatchObject({ changes: [], additions: [{ text: 'field `glass` is new' }] });
  });
});

describe('a schema that several routes share', () => {
  const ref = { $ref: '#/components/schemas/Drink' };
  const paths = {
    '/drinks': { get: giving(object({ drinks: { type: 'array', items: ref } })) },
    '/drinks/{id}': { get: giving(ref, { id: 7, title: 'Mojito' }) },
    '/bar': { get: giving(object({ name: string })) },
  };
  const guide = guideBetween(
    { paths, components: { schemas: { Drink: object({ id: number, title: string }) } } },
    {
      paths: { ...paths, '/drinks/{id}': { get: giving(ref, { id: 7, name: 'Mojito' }) } },
      components: { schemas: { Drink: object({ id: number, name: string }) } },
    },
  );

  it('is described once, with the example of a route that has one', () => {
    expect(guide.shared.map((topic) => [topic.subject, texts(topic)])).toEqual([
      ['`Drink`', ['field `title` was removed; it looks renamed to `name`']],
    ]);
    expect(guide.shared[0]?.sample?.before).toEqual({ text: '{\n  "title": "Mojito"\n}', isGenerated: false });
  });

  it('is described for each place of a schema without a name', () => {
    const paths = {
      '/a': { get: giving(object({ bar: { $ref: '#/components/other/Bar' } })) },
      '/b': { get: giving({ $ref: '#/components/other/Bar' }) },
      '/c': { get: giving({ $ref: '#/components/other/Bar' }) },
    };
    const guide = guideBetween(
      { paths, components: { other: { Bar: object({ price: string }) } } },
      { paths, components: { other: { Bar: object({ price: { type: 'boolean' } }) } } },
    );
    expect(onlyTopic(only(guide)).changes[0]?.text).toContain('field `bar.price` was a string');
    expect(guide.shared.map((topic) => [topic.subject, topic.changes[0]?.text])).toEqual([
      ['Response 200', expect.stringContaining('field `price` was a string')],
    ]);
    expect(guide.routes.map(({ shared }) => shared.map(({ where }) => where))).toEqual([
      [],
      ['response 200'],
      ['response 200'],
    ]);
  });

  it('has a place in each route', () => {
    const places = guide.routes.map(({ old, topics, shared }) => [
      old?.path,
      topics.length,
      shared.map(({ where }) => where),
    ]);
    expect(places).toEqual([
      ['/drinks', 0, ['response 200 field `drinks[]`']],
      ['/drinks/{id}', 0, ['response 200']],
      ['/bar', 0, []],
    ]);
  });
});
