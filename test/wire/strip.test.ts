import { describe, expect, it } from 'vitest';
import { answer, startBackend } from '../support/backend.ts';
import { startTestGateway } from '../support/gateway.ts';
import { ask, get } from '../support/rawClient.ts';
import { type RawResponse, valuesOf } from '../support/response.ts';

interface House {
  readonly prefix?: 'strip' | 'forward';
  readonly base?: string;
}

/** Asks /v1/x of a backend that answers with `field`; `ORIGIN` in it stands for the backend's own origin. */
async function fieldsFor(field: string, { prefix = 'strip', base }: House = {}): Promise<RawResponse> {
  const own: { url: string } = { url: '' };
  const backend = await startBackend(() => answer(201, '', field.replaceAll('ORIGIN', own.url)));
  own.url = backend.url;
  const gateway = await startTestGateway(
    { '/v1': { upstream: backend.url, prefix }, '/v2': backend.url },
    base === undefined ? {} : { gateway: { base_path: base } },
  );
  const response = await ask(gateway.port, get(`${base ?? ''}/v1/x`));
  const restored = response.fields.map(([name, value]) => [name, value.replaceAll(backend.url, 'ORIGIN')] as const);
  return { ...response, fields: restored };
}

async function rewritten(name: string, value: string, house?: House): Promise<string[]> {
  return valuesOf(await fieldsFor(`${name}: ${value}`, house), name);
}

// Each line stands for Location, Content-Location, Refresh and Link.
const inside: [from: string, to: string][] = [
  ['/things/7', '/v1/things/7'],
  ['/', '/v1/'],
  ['/things?a=/b#c', '/v1/things?a=/b#c'],
  ['/a%2fb//c', '/v1/a%2fb//c'],
  ['/v10/x', '/v1/v10/x'],
  ['/v1x', '/v1/v1x'],
  ['/V2/x', '/v1/V2/x'],
  ['/?next=/v2/x', '/v1/?next=/v2/x'],
];

// RFC 3986 §4.2: relative to where the client is, to another host, or already with a version.
const untouched: string[] = [
  ...['/v1/things', '/v2/things', '/v1', '/v2?x', 'things/7', './things', '../things', '?page=2', '#part', ''],
  ...['https://other.test/things', 'http://other.test:8080/', '//other.test/things', 'mailto:a@b.test', 'urn:x:y'],
  ...['http://api.test.evil.test/x', 'http://evil.test/http://api.test/x', 'http://user@api.test.evil.test/'],
];

describe('strip restores the prefix in fields with a URL', () => {
  it.each(inside)('Location: %s', async (from, to) => expect(await rewritten('Location', from)).toEqual([to]));
  it.each(inside)('Content-Location: %s', async (from, to) =>
    expect(await rewritten('Content-Location', from)).toEqual([to]),
  );
  it.each(inside)('Refresh: 5; url=%s', async (from, to) =>
    expect(await rewritten('Refresh', `5; url=${from}`)).toEqual([`5; url=${to}`]),
  );
  it.each(inside)('Link: <%s>', async (from, to) =>
    expect(await rewritten('Link', `<${from}>; rel="next"`)).toEqual([`<${to}>; rel="next"`]),
  );

  it.each(untouched)('not Location: %s', async (value) => expect(await rewritten('Location', value)).toEqual([value]));
  it.each(untouched)('not Link: <%s>', async (value) =>
    expect(await rewritten('Link', `<${value}>; rel="next"`)).toEqual([`<${value}>; rel="next"`]),
  );

  it.each([
    ['the public origin', 'http://api.test/things', '/v1/things'],
    ['the public origin, without scheme', '//api.test/things?a', '/v1/things?a'],
    ['the public origin in upper case', 'HTTP://API.test/things', '/v1/things'],
    ["the backend's own origin", 'ORIGIN/things#a', '/v1/things#a'],
    ["the backend's own origin, without a path", 'ORIGIN', '/v1'],
  ])('an absolute one of %s', async (_name, from, path) => {
    const [value = ''] = await rewritten('Location', from);
    expect(value).toMatch(/^(\/[^/]|http:\/\/api\.test\/|\/\/api\.test\/)/i);
    expect([path, `${path}/`]).toContain(value.replace(/^(http:)?\/\/api\.test(?=\/)/i, ''));
  });

  it('an absolute one of the backend never shows the backend', async () => {
    for (const target of ['ORIGIN/things', 'ORIGIN', 'ORIGIN?x', 'ORIGIN/v1/things']) {
      const [value] = await rewritten('Location', target);
      expect(value).not.toContain('ORIGIN');
    }
  });

  it('every link of a line, and nothing else in it', async () => {
    const line =
      '</a>; rel="next"; title="</b>, c", <https://other.test/x>; rel=prev, <c>; rel=x,</v2/d>; rel=y , </e>;rel=z';
    const expected =
      '</v1/a>; rel="next"; title="</b>, c", <https://other.test/x>; rel=prev, <c>; rel=x,</v2/d>; rel=y , </v1/e>;rel=z';
    expect(await rewritten('Link', line)).toEqual([expected]);
  });

  it.each([
    ['5;url=/x', '5;url=/v1/x'],
    ['0; URL=/x', '0; URL=/v1/x'],
    ['5; url="/x"', '5; url="/v1/x"'],
    ["5; url='/x'", "5; url='/v1/x'"],
    ['5', '5'],
    ['5; url=https://other.test/', '5; url=https://other.test/'],
  ])('Refresh: %s', async (from, to) => expect(await rewritten('Refresh', from)).toEqual([to]));
});

// RFC 6265 §5.1.4: a cookie of the backend's `/` is a cookie of our `/v1`.
describe('strip moves cookies below the prefix', () => {
  it.each([
    ['a=b; Path=/', 'a=b; Path=/v1'],
    ['a=b; path=/; HttpOnly', 'a=b; path=/v1; HttpOnly'],
    ['a=b; Secure; Path=/things; SameSite=Lax', 'a=b; Secure; Path=/v1/things; SameSite=Lax'],
    ['a=b;Path=/things/', 'a=b;Path=/v1/things/'],
    ['a="/x; y"; Path=/', 'a="/x; y"; Path=/v1'],
    ['a=b; Path=/v1', 'a=b; Path=/v1'],
    ['a=b; Path=/v2/x', 'a=b; Path=/v2/x'],
    ['a=b', 'a=b'],
    ['a=b; HttpOnly', 'a=b; HttpOnly'],
    ['a=b; Path=', 'a=b; Path='],
    ['a=b; Path=relative', 'a=b; Path=relative'],
    ['Path=/; HttpOnly', 'Path=/; HttpOnly'],
    ['__Host-a=b; Path=/; Secure', '__Host-a=b; Path=/; Secure'],
    ['__Secure-a=b; Path=/; Secure', '__Secure-a=b; Path=/v1; Secure'],
    ['a=b; Domain=api.test; Path=/', 'a=b; Domain=api.test; Path=/v1'],
    ['a=caf\xe9; Path=/', 'a=caf\xe9; Path=/v1'],
  ])('%s', async (from, to) => expect(await rewritten('Set-Cookie', from)).toEqual([to]));
});

describe('below a base path', () => {
  it.each([
    ['Location', '/things', '/api/v1/things'],
    ['Location', '/', '/api/v1/'],
    ['Link', '</things>; rel="next"', '</api/v1/things>; rel="next"'],
    ['Set-Cookie', 'a=b; Path=/', 'a=b; Path=/api/v1'],
    ['Set-Cookie', 'a=b; Path=/things', 'a=b; Path=/api/v1/things'],
    ['Location', '/api/v1/things', '/api/v1/things'],
    ['Location', '/api/v2/things', '/api/v2/things'],
  ])('%s: %s', async (name, from, to) => expect(await rewritten(name, from, { base: '/api' })).toEqual([to]));
});

describe('forward changes no field', () => {
  it.each([
    ['Location', '/things'],
    ['Location', 'http://api.test/things'],
    ['Location', 'ORIGIN/things'],
    ['Content-Location', '/things'],
    ['Refresh', '5; url=/things'],
    ['Link', '</things>; rel="next"'],
    ['Set-Cookie', 'a=b; Path=/'],
  ])('%s: %s', async (name, value) => expect(await rewritten(name, value, { prefix: 'forward' })).toEqual([value]));
});
