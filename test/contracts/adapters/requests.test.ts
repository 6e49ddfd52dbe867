import { expect, it } from 'vitest';
import { formatFault } from '../../../gateway/config/fault.ts';
import type { ConfigResult } from '../../../gateway/config/validate.ts';
import { CompiledAdapter } from '../../../gateway/contracts/adapters/serving/compiledAdapter.ts';
import { loadFixture } from './fixtures.ts';

type Parameter = Readonly<Record<string, unknown>>;

/** One GET of v1 with its counterpart. */
interface Pair {
  readonly v1: readonly Parameter[];
  readonly v2: readonly Parameter[];
  readonly path?: readonly object[];
  readonly query?: readonly object[];
  /** `/drinks` and `/cocktails` by default. */
  readonly templates?: readonly [own: string, other: string];
}

const text = { type: 'string' };
const integer = { type: 'integer' };
const inQuery = (name: string, schema: object = text, more: object = {}): Parameter => ({
  name,
  in: 'query',
  schema,
  ...more,
});
const inPath = (name: string, schema: object = text, more: object = {}): Parameter => ({
  name,
  in: 'path',
  required: true,
  schema,
  ...more,
});
const inHeader = (name: string, pattern: string): Parameter => ({ name, in: 'header', schema: { ...text, pattern } });
const inCookie = (name: string, pattern: string): Parameter => ({ ...inHeader(name, pattern), in: 'cookie' });
const oneOf = (...values: unknown[]): object => ({ type: 'string', enum: values });
const list = (items: object = text, more: object = {}): object => ({ type: 'array', items, ...more });
const joined = { explode: false };

async function load({ v1, v2, path, query, templates = ['/drinks', '/cocktails'] }: Pair): Promise<ConfigResult> {
  const [own, other] = templates;
  const contract = (template: string, parameters: readonly Parameter[]): string =>
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'drinks', version: '1' },
      paths: { [template]: { get: { parameters, responses: { '204': { description: '' } } } } },
    });
  const request = { ...(path ? { path } : {}), ...(query ? { query } : {}) };
  const adapter = { from: '/v2', routes: { [`GET ${own}`]: { to: `GET ${other}`, request } } };
  const routes = {
    '/v1': { upstream: 'http://127.0.0.1:3001', contract: 'v1.yaml', adapter },
    '/v2': { upstream: 'http://127.0.0.1:3002', contract: 'v2.yaml' },
  };
  return loadFixture({ routes: JSON.stringify({ routes }), v1: contract(own, v1), v2: contract(other, v2) });
}

const newOld = [{ each: { x: [{ map: { '': { new: 1, old: 2 } } }] } }];
const tags = [inQuery('x', list(oneOf('new', 'old')))];
const tagsOf = (more: object): Parameter[] => [inQuery('x', list(oneOf('new', 'old')), more)];
const numbersOf = (more: object): Parameter[] => [inQuery('x', list({ type: 'integer', enum: [1, 2] }), more)];
const seconds = { type: 'integer', minimum: 0, maximum: 4_000_000_000 };

const accepted: [what: string, pair: Pair, requests: Readonly<Record<string, string>>][] = [
  [
    'a list that is sent once',
    { v1: tags, v2: numbersOf({}), query: newOld },
    { '?x=new': '?x=1', '?x=new&x=old': '?x=1&x=2', '?x=odd': 'refused', '?x': 'refused', '?x=': 'refused', '': '' },
  ],
  [
    'a list with commas',
    { v1: tagsOf(joined), v2: numbersOf(joined), query: newOld },
    { '?x=new,old': '?x=1,2', '?x=new': '?x=1', '?x=new%2Cold': 'refused', '?x=new&x=old': '?x=1,2' },
  ],
  [
    'a list with spaces or |',
    {
      v1: [inQuery('x', list(oneOf('new', 'old')), { style: 'spaceDelimited' })],
      v2: [inQuery('y', list(oneOf('new', 'old')), { style: 'pipeDelimited' })],
      query: [{ rename: { x: 'y' } }],
    },
    { '?x=new%20old': '?y=new%7Cold', '?x=new+old': '?y=new%7Cold' },
  ],
  [
    'a list that is repeated instead of joined',
    { v1: tagsOf(joined), v2: numbersOf({}), query: newOld },
    { '?x=new,old&q=a,b': '?x=1&x=2&q=a,b' },
  ],
  [
    'a renamed list with commas in its items',
    { v1: [inQuery('x', list(), joined)], v2: [inQuery('y', list(), joined)], query: [{ rename: { x: 'y' } }] },
    { '?x=a%2Cb,c': '?y=a%2Cb,c', '?x=a,b,c': '?y=a,b,c' },
  ],
  [
    'a value instead of a list, and a list instead of a value',
    {
      v1: [inQuery('x', list(text), joined), inQuery('y')],
      v2: [inQuery('x'), inQuery('y', list(text), joined)],
      query: [{ head: 'x' }, { wrap: 'y' }],
    },
    { '?x=a,b&y=c,d': '?x=a&y=c%2Cd', '?y=': '?y=', '?x=a+b': '?x=a+b' },
  ],
  [
    'seconds that become a time',
    {
      v1: [inQuery('since', seconds)],
      v2: [inQuery('since', { type: 'string', format: 'date-time' })],
      query: [{ convert: { since: 'date_time' } }],
    },
    {
      '?since=1700000000': '?since=2023-11-14T22%3A13%3A20Z',
      '?since=%31700000000': '?since=2023-11-14T22%3A13%3A20Z',
      '?since=soon': 'refused',
      '?since=': 'refused',
      '?since=1&since=2': 'refused',
    },
  ],
  [
    'numbers, booleans and their spelling',
    {
      v1: [inQuery('a', integer), inQuery('b', { type: 'boolean' }), inQuery('c', { type: 'number' })],
      v2: [inQuery('a', text), inQuery('b', oneOf('on', 'off')), inQuery('d', { type: 'number' })],
      query: [{ convert: { a: 'string' } }, { map: { b: { true: 'on', false: 'off' } } }, { rename: { c: 'd' } }],
    },
    {
      '?a=12345678901234567890&b=true&c=9.50': '?a=12345678901234567890&b=on&d=9.50',
      '?b=1': 'refused',
      '?c=%39': '?d=%39',
    },
  ],
  [
    'a constant list, a default, and a parameter that is dropped',
    {
      v1: [inQuery('debug'), inQuery('limit', integer)],
      v2: [
        inQuery('f', list(text, { minItems: 2 }), { ...joined, required: true }),
        inQuery('limit', integer, { required: true }),
      ],
      query: [{ const: { f: ['x y', 'z,'] } }, { default: { limit: 5 } }, { drop: 'debug' }],
    },
    { '?debug=1&f=other&limit=9': '?f=x%20y,z%2C&limit=9', '': '?f=x%20y,z%2C&limit=5' },
  ],
  [
    'a name with brackets, and parameters that no contract has',
    {
      v1: [inQuery('x[]', list(oneOf('a')))],
      v2: [inQuery('x[]', list(oneOf('b')))],
      query: [{ each: { 'x[]': [{ map: { '': { a: 'b' } } }] } }],
    },
    { '?x[]=a&__proto__=%zz&&=': '?x[]=b&__proto__=%zz&=', '?x%5B%5D=a': '?x%5B%5D=b' },
  ],
  [
    'a parameter with the name __proto__',
    {
      v1: [inQuery('constructor')],
      v2: [inQuery('__proto__', text, { required: true }), inQuery('toString')],
      query: [{ const: { '/__proto__': 'a' } }, { rename: { constructor: 'toString' } }],
    },
    { '?constructor=b': '?toString=b&__proto__=a' },
  ],
  [
    'a number as a text with a pattern',
    {
      v1: [inQuery('page', { ...integer, minimum: 1, maximum: 999 })],
      v2: [inQuery('page', { type: 'string', pattern: '^[0-9]{1,3}$', maxLength: 3 })],
      query: [{ convert: { page: 'string' } }],
    },
    { '?page=12': '?page=12' },
  ],
  [
    'texts of digits with leading zeros',
    {
      v1: [inQuery('x', { type: 'string', pattern: '^[0-9]{1,3}$' })],
      v2: [inQuery('y')],
      query: [{ rename: { x: 'y' } }],
    },
    { '?x=081': '?y=081' },
  ],
  [
    'a value that would make another segment of the path',
    { v1: [inPath('id', oneOf('a', '.'))], v2: [inPath('id')], templates: ['/drinks/x{id}', '/cocktails/.{id}/x'] },
    { '/drinks/xa': '/cocktails/.a/x', '/drinks/x.': 'refused', '/drinks/x%2e': 'refused' },
  ],
  [
    'a constant in a path',
    { v1: [], v2: [inPath('id', integer)], path: [{ const: { id: 7 } }], templates: ['/drinks', '/cocktails/{id}'] },
    { '/drinks': '/cocktails/7' },
  ],
  [
    'seconds in a path, and a list with commas',
    {
      v1: [inPath('day', seconds), inPath('ids', list(oneOf('a', 'b')))],
      v2: [inPath('day', { type: 'string', format: 'date' }), inPath('ids', list(oneOf('1', '2')))],
      path: [{ convert: { day: 'date' } }, { each: { ids: [{ map: { '': { a: '1', b: '2' } } }] } }],
      templates: ['/drinks/{day}/{ids}', '/cocktails/{ids}/{day}'],
    },
    {
      '/drinks/1700000000/a,b': '/cocktails/1,2/2023-11-14',
      '/drinks/1700000000/b': '/cocktails/2/2023-11-14',
      '/drinks/now/a': 'refused',
    },
  ],
  [
    'a list with |, although clients cannot send all of its items',
    {
      v1: [inQuery('x', list(oneOf('a|b', 'c')), { style: 'pipeDelimited' })],
      v2: [inQuery('x', list(oneOf('a|b', 'c')), { style: 'pipeDelimited' })],
    },
    { '?x=c|c': '?x=c|c' },
  ],
  [
    'a rotation of path parameters, with reserved characters',
    {
      v1: [inPath('a'), inPath('b'), inPath('c')],
      v2: [inPath('a'), inPath('b'), inPath('c')],
      path: [{ rename: { a: 't' } }, { rename: { b: 'a' } }, { rename: { c: 'b' } }, { rename: { t: 'c' } }],
      templates: ['/drinks/{a}/{b}/{c}', '/cocktails/{a}/{b}/{c}'],
    },
    { '/drinks/1%2F1/2%3f/3+3;x=1': '/cocktails/2%3f/3+3;x=1/1%2F1' },
  ],
  [
    'wider patterns without operations',
    {
      v1: [inQuery('x', { ...text, pattern: '^a$' }), inHeader('X-Id', '^a$'), inCookie('id', '^a$')],
      v2: [inQuery('x', { ...text, pattern: '^[ab]$' }), inHeader('x-id', '^[ab]$'), inCookie('id', '^[ab]$')],
    },
    { '?x=a': '?x=a' },
  ],
];

it.each(accepted)('accepts %s', async (_what, pair, requests) => {
  const { snapshot, faults } = await load(pair);
  expect(faults.map(formatFault)).toEqual([]);
  const settings = snapshot?.versions.get('v1')?.adapter;
  if (!settings) throw new Error('no adapter');
  const adapter = new CompiledAdapter({ settings, hash: '', templates: [] });
  const [own = '', other = ''] = pair.templates ?? ['/drinks', '/cocktails'];
  const adapted = Object.keys(requests).map((request) => {
    const [path, query] = request.startsWith('/') ? [request, ''] : [own, request];
    const route = adapter.find('GET', path);
    if (!route || 'gone' in route) throw new Error('no route');
    try {
      return [request, route.requestTargetOf(path, query).slice(request.startsWith('/') ? 0 : other.length)];
    } catch {
      return [request, 'refused'];
    }
  });
  expect(Object.fromEntries(adapted)).toEqual(requests);
});

const object = { type: 'object', properties: { x: text } };

const rejected: [what: string, pair: Pair, fault: string][] = [
  [
    'a list whose items contain the separator',
    {
      v1: [inQuery('x', list())],
      v2: [inQuery('x', list(), { style: 'spaceDelimited' })],
      query: [{ rename: { x: 'y' } }, { rename: { y: 'x' } }],
    },
    'an item of a list contains the separator',
  ],
  [
    'an operation on the fields of an object',
    { v1: [inQuery('f', object)], v2: [inQuery('g', object)], query: [{ rename: { f: 'g' } }] },
    'parameters of their own',
  ],
  [
    'an operation on a deepObject',
    { v1: [inQuery('f', object, { style: 'deepObject' })], v2: [], query: [{ drop: 'f' }] },
    'parameters of their own',
  ],
  [
    'an operation within an object in one text',
    { v1: [inQuery('f', object, joined)], v2: [inQuery('f', object, joined)], query: [{ default: { '/f/x': 'a' } }] },
    'one text that default cannot read',
  ],
  [
    'an operation on JSON in a parameter',
    {
      v1: [{ name: 'f', in: 'query', content: { 'application/json': { schema: object } } }],
      v2: [inQuery('f')],
      query: [{ convert: { f: 'string' } }],
    },
    'one text that convert cannot read',
  ],
  [
    'a constant for a parameter in JSON',
    {
      v1: [],
      v2: [{ name: 'f', in: 'query', required: true, content: { 'application/json': { schema: object } } }],
      query: [{ const: { f: '{}' } }],
    },
    'serialized differently',
  ],
  [
    'a constant object',
    { v1: [], v2: [inQuery('f', object, { ...joined, required: true })], query: [{ const: { f: { x: 'a' } } }] },
    'cannot be written in a query',
  ],
  [
    'a constant list of objects',
    { v1: [], v2: [inQuery('f', list({}))], query: [{ const: { f: [{}] } }] },
    'This list cannot be written in a query',
  ],
  [
    'a default of null',
    { v1: [inQuery('x')], v2: [inQuery('x', { type: ['string', 'null'] })], query: [{ default: { x: null } }] },
    'null cannot be written in a query',
  ],
  [
    'null for an item',
    {
      v1: tags,
      v2: [inQuery('x', list({ type: ['string', 'null'] }))],
      query: [{ each: { x: [{ map: { '': { new: null, old: 'b' } } }] } }],
    },
    'null cannot be written in a query',
  ],
  [
    'a list in a list',
    { v1: tags, v2: [inQuery('x', list(list()))], query: [{ wrap: 'x' }] },
    'the parameter x of the query is not a text',
  ],
  [
    'a field of a parameter',
    { v1: [inQuery('x')], v2: [inQuery('f', object, joined)], query: [{ move: { x: '/f/x' } }] },
    'cannot have fields',
  ],
  [
    'all parameters at once',
    { v1: [inQuery('x')], v2: [inQuery('x')], query: [{ each: { '': [{ map: { '': { a: 'b' } } }] } }] },
    'The operation each needs a parameter of the query',
  ],
  [
    'a path parameter that is dropped',
    { v1: [inPath('id')], v2: [inQuery('id')], path: [{ drop: 'id' }], templates: ['/drinks/{id}', '/cocktails'] },
    'all its values would get the same response',
  ],
  [
    'a value of a map that is no segment',
    {
      v1: [inPath('id', oneOf('a'))],
      v2: [inPath('id')],
      path: [{ map: { id: { a: '..' } } }],
      templates: ['/drinks/{id}', '/cocktails/{id}'],
    },
    '".." cannot be written in a path',
  ],
  [
    'a list in a path that is a single text',
    {
      v1: [inPath('id')],
      v2: [inPath('id')],
      path: [{ const: { id: ['a', 'b'] } }],
      templates: ['/drinks/{id}', '/cocktails/{id}'],
    },
    'was an array and is now a string',
  ],
  [
    'a parameter in another style of path',
    {
      v1: [inPath('id', integer)],
      v2: [inPath('id', integer, { style: 'label' })],
      path: [{ convert: { id: 'integer' } }],
      templates: ['/drinks/{id}', '/cocktails/{id}'],
    },
    'serialized differently',
  ],
  [
    'a convert of a matrix parameter',
    {
      v1: [inPath('id', seconds, { style: 'matrix' })],
      v2: [inPath('id', { type: 'string', format: 'date' }, { style: 'matrix' })],
      path: [{ convert: { id: 'date' } }],
      templates: ['/drinks/{id}', '/cocktails/{id}'],
    },
    'one text that convert cannot read',
  ],
  [
    'a number above the limit after a conversion',
    {
      v1: [inQuery('x', { type: 'string', pattern: '^[0-9]{1,3}$' })],
      v2: [inQuery('x', { ...integer, maximum: 99 })],
      query: [{ convert: { x: 'integer' } }],
    },
    'has a maximum of `99` instead of `999`',
  ],
  [
    'a negative number as a text of digits',
    {
      v1: [inQuery('page', { ...integer, minimum: -9, maximum: 999 })],
      v2: [inQuery('page', { type: 'string', pattern: '^[0-9]{1,3}$' })],
      query: [{ convert: { page: 'string' } }],
    },
    'gets a value that the contract of /v2 does not allow',
  ],
  [
    'more items than are accepted',
    {
      v1: [inQuery('x', list(oneOf('a', 'b')))],
      v2: [inQuery('x', list(text, { maxItems: 2 }))],
      query: [{ each: { x: [] } }],
    },
    'now has a maxItems of `2`',
  ],
  [
    'another pattern of a query parameter without operations',
    { v1: [inQuery('x', { ...text, pattern: '^a$' })], v2: [inQuery('x', { ...text, pattern: '^b$' })] },
    'gets a value that the contract of /v2 does not allow',
  ],
  [
    'another divisor of a path parameter without operations',
    {
      v1: [inPath('id', { ...integer, multipleOf: 2 })],
      v2: [inPath('id', { ...integer, multipleOf: 3 })],
      templates: ['/drinks/{id}', '/cocktails/{id}'],
    },
    'gets a value that the contract of /v2 does not allow',
  ],
  [
    'another pattern of a header',
    { v1: [inHeader('X-Id', '^a$')], v2: [inHeader('x-id', '^b$')] },
    'The header X-Id may have a value that the contract of /v2 does not allow',
  ],
  [
    'another pattern of a cookie',
    { v1: [inCookie('id', '^a$')], v2: [inCookie('id', '^b$')] },
    'The cookie id may have a value that the contract of /v2 does not allow',
  ],
];

it.each(rejected)('rejects %s', async (_what, pair, fault) => {
  const { snapshot, faults } = await load(pair);
  expect(faults.map(formatFault).join('\n')).toContain(fault);
  expect(snapshot).toBeUndefined();
});
