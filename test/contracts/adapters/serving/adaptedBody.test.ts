import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { AdapterSettings, JsonValue, Operation } from '../../../../gateway/config/adapterSettings.ts';
import { checkCodeOf } from '../../../../gateway/contract/schema/validator.ts';
import {
  AdaptedBodyValidator,
  type BodyBytes,
  bufferOf,
  changeBody,
  decodeBody,
  isAdaptableJson,
  isBody,
  tooLarge,
} from '../../../../gateway/contracts/adapters/serving/adaptedBody.ts';
import {
  adaptedHead,
  adaptedRequestLines,
  adaptedTag,
  originalTags,
} from '../../../../gateway/contracts/adapters/serving/adaptedHeads.ts';
import { CompiledAdapter } from '../../../../gateway/contracts/adapters/serving/compiledAdapter.ts';
import { parseExact } from '../../../../gateway/contracts/adapters/serving/exactJson.ts';
import { adaptRequest, adaptResponse } from '../../../../gateway/contracts/adapters/serving/exchangeOutsidePipeline.ts';
import { parseResponseHead } from '../../../../gateway/http1/responseHead.ts';
import { servedSnapshot } from '../servedVersion.ts';

function compiled(query?: readonly Operation[]): CompiledAdapter {
  const version = servedSnapshot('http://127.0.0.1:1').versions.get('v1');
  const templates = version?.contract?.paths.entries().map(([template]) => template) ?? [];
  const settings = version?.adapter as AdapterSettings;
  const routes = settings.routes.map((route) =>
    'gone' in route || query === undefined ? route : { ...route, request: { ...route.request, query } },
  );
  return new CompiledAdapter({ settings: { ...settings, routes }, hash: 'abc', templates });
}

describe('requests and responses that are adapted for a comparison', () => {
  it('have the route, the method and the target of the other version', () => {
    const adapter = compiled();
    expect(adaptRequest(adapter, 'HEAD', '/drinks/a%20b', '?x=1')).toMatchObject({
      method: 'HEAD',
      requestTarget: '/cocktails/a%20b?x=1',
      route: { name: 'GET /drinks/{id}' },
    });
    expect(adaptRequest(adapter, 'GET', '/search', '')).toBe('v2 has no search');
    expect(adaptRequest(adapter, 'GET', '/drinks/mine', '')).toBe('the adapter does not list the route');
    expect(adaptRequest(adapter, 'DELETE', '/drinks/7', '')).toBe('the adapter does not list the route');
  });

  it('are not adapted, with the reason, if a value of the query has no counterpart', () => {
    const adapter = compiled([{ kind: 'map', place: [], at: ['base'], values: new Map([['rum', 'white rum']]) }]);
    expect(adaptRequest(adapter, 'GET', '/drinks/7', '?base=rum')).toMatchObject({
      requestTarget: '/cocktails/7?base=white%20rum',
    });
    expect(adaptRequest(adapter, 'GET', '/drinks/7', '?base=gin')).toBe('the value at /base cannot be adapted');
  });

  it('have the body of the adapted version', () => {
    const adapter = compiled();
    const request = adaptRequest(adapter, 'GET', '/drinks/7', '');
    if (typeof request === 'string') throw new Error(request);
    const contentType = 'application/json';
    const body = Buffer.from('{"title":"a","price":1}');
    const adapt = (response: Partial<Parameters<typeof adaptResponse>[2]>): unknown => {
      const result = adaptResponse(adapter, request.route, { status: 200, contentType, body, ...response });
      return Buffer.isBuffer(result) ? result.toString() : result;
    };
    expect(adapt({})).toBe('{"name":"a","price":"1.00"}');
    expect(adapt({ contentCoding: 'gzip', body: gzipSync(body) })).toBe('{"name":"a","price":"1.00"}');
    expect(adapt({ status: 302, contentType: 'text/html' })).toBe(body.toString());
    expect(adapt({ status: 304, body: Buffer.alloc(0) })).toBe('');
    expect(adapt({ contentType: 'text/html' })).toMatchObject({ cause: 'the body is not JSON in UTF-8' });
    expect(adapt({ body: Buffer.from('{"price":"free"}') })).toMatchObject({ pointer: '/price' });
  });
});

describe('the parts of an adapted body', () => {
  it.each([
    ['application/json', true],
    ['Application/Problem+JSON ; charset=UTF-8', true],
    ['text/json', true],
    ['application/json; charset=latin1', false],
    ['application/jsonp', false],
    ['application/x-ndjson', false],
    ['multipart/mixed; boundary=json', false],
    ['', false],
    [undefined, false],
  ])('%s may be JSON: %s', (contentType, expected) => expect(isAdaptableJson(contentType)).toBe(expected));

  it('are decoded up to a limit', () => {
    const bomb = gzipSync(Buffer.alloc(1_000_000));
    expect(decodeBody(bomb, 'gzip', 1000)).toBe(tooLarge);
    expect(decodeBody(bomb, 'X-GZIP, identity', 1_000_000)).toHaveLength(1_000_000);
    expect(decodeBody(bomb, 'gzip, gzip, gzip', 1000)).toMatchObject({
      cause: 'the body has too many content codings',
    });
    expect(decodeBody(bomb, 'constructor', 1000)).toMatchObject({ cause: 'the body has an unknown content coding' });
    expect(decodeBody(bomb.subarray(0, 20), 'gzip', 1000)).toMatchObject({ cause: expect.stringContaining('broken') });
  });

  it('are not checked with a schema that cannot be compiled', async () => {
    const validator = new AdaptedBodyValidator({
      hash: 'abc',
      checks: checkCodeOf({ 'a/b': { type: 'text' }, 'c d': { type: 'string' } }, {}),
      otherTypes: new Map(),
      routes: new Map([
        [
          'GET /a',
          {
            responses: new Map([
              ['2XX', new Map([['application/json', 'a/b']])],
              ['default', new Map([['application/json', 'c d']])],
            ]),
            parameters: { own: new Map(), other: new Map() },
          },
        ],
      ]),
    });
    expect(validator.hasSchema('GET /a', 201)).toBe(true);
    expect(validator.checkFor('GET /a', 201, 'application/json')).toBeUndefined();
    expect(validator.checkFor('GET /a', 404, 'application/problem+json')?.(1)).toBe('');
    expect(validator.checkFor('GET /a', 404, 'application/json; a=b')?.('x')).toBeUndefined();
    expect(validator.checkFor('GET /b', 404, 'application/json')).toBeUndefined();
  });
});

describe('a body as text of one character for each byte', () => {
  it.each([
    ['ASCII', '{ "a": 1 }'],
    ['other characters', '{ "a": "é€😀" }'],
    ['escaped characters, which are written as UTF-8', '{ "a": "\\u00e9" }'],
    ['a byte order mark', '\ufeff{ "a": 1 }'],
    ['a number with more digits than a double', '{ "a": 12345678901234567890 }'],
  ])('is changed in the same way as its bytes: %s', (_name, text) => {
    const bytes = Buffer.from(text);
    for (const isEmpty of [false, true]) {
      const plain = (body: BodyBytes): unknown => {
        const result = changeBody(body, { transform: (value) => [value], isEmpty, findViolation: undefined });
        return isBody(result) ? bufferOf(result).toString() : result;
      };
      const after = isEmpty ? text.replace('\ufeff', '') : JSON.stringify([parseExact(text.replace('\ufeff', ''))]);
      expect(plain(bytes)).toEqual(plain(bytes.toString('latin1')));
      expect(plain(bytes)).toEqual(after);
    }
  });

  it('has to be UTF-8', () => {
    const change = { transform: (value: JsonValue) => value, isEmpty: true, findViolation: undefined };
    expect(changeBody('"\xe9"', change)).toEqual({ pointer: '', cause: 'the body is not UTF-8' });
  });
});

describe('an adapted head', () => {
  it('is made once for one head, adapter and length', () => {
    const head = parseResponseHead('HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 9\r\n\r\n');
    const adapted = adaptedHead(head, 'abc', 5);
    expect(adapted.fields).toEqual(['ETag', 'W/"a-abc"', 'Content-Length', '5']);
    expect(adaptedHead(head, 'abc', 5)).toBe(adapted);
    expect(adaptedHead(head, 'abc', 6).fields).toEqual(['ETag', 'W/"a-abc"', 'Content-Length', '6']);
    expect(adaptedHead(head, 'abd', 6).fields).toEqual(['ETag', 'W/"a-abd"', 'Content-Length', '6']);
    expect(adaptedHead(head, 'abd', 'same').fields).toEqual(['ETag', 'W/"a-abd"', 'Content-Length', '9']);
  });
});

describe('the media types that the backend is asked for', () => {
  it.each([
    ['', 'application/json, application/problem+json'],
    ['Accept: application/xml\r\n', 'application/json, application/problem+json'],
    ['Accept: text/html, */*;q=0.8\r\n', 'application/json, application/problem+json'],
    ['Accept: application/xml\r\nAccept: Application/JSON;q=0.5\r\n', 'Application/JSON;q=0.5'],
    ['Accept: application/json;q=0\r\n', 'application/json, application/problem+json'],
  ])('for %j are %s', (lines, expected) => {
    const accept = ['application/json', 'application/problem+json'];
    const sent = adaptedRequestLines(`Host: a\r\n${lines}X-A: 1\r\n`, { hash: 'abc', isNewBody: false, accept });
    expect(sent).toBe(`Accept-Encoding: identity\r\nHost: a\r\nX-A: 1\r\nAccept: ${expected}\r\n`);
  });

  it('are those of the client if bodies are passed on', () => {
    const sent = adaptedRequestLines('Accept: text/csv\r\n', { hash: 'abc', isNewBody: false, accept: undefined });
    expect(sent).toBe('Accept-Encoding: identity\r\nAccept: text/csv\r\n');
  });
});

describe('an entity tag', () => {
  it.each([
    ['"a"', 'W/"a-abc"'],
    ['W/"a"', 'W/"a-abc"'],
    ['""', 'W/"-abc"'],
    ['a', undefined],
    ['"a"b"', undefined],
  ])('%s becomes %s', (tag, expected) => expect(adaptedTag(tag, 'abc')).toBe(expected));

  it.each([
    ['W/"a-abc"', 'W/"a"'],
    ['"a-abc" , W/"b,c-abc"', '"a", W/"b,c"'],
    ['"a-abd", "b"', ''],
    [' * ', '*'],
    ['', ''],
    ['a-abc', ''],
  ])('%s was %s', (list, expected) => expect(originalTags(list, 'abc')).toBe(expected));
});
