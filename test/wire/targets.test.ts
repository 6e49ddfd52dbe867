import { describe, expect, it } from 'vitest';
import { startBackend } from '../support/backend.ts';
import { startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, get } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';

// Which request targets name a version, which do not, and which are refused; each with and without `/api`.
const unknown: string[] = [
  ...['/v10/x', '/v2/x', '/v0/x', '/v01', '/v01/x', '/V1', '/V1/x', '/v1.3.7/x', '/v1.0', '/v1%2fx', '/v1%2Fx'],
  ...['/x', '/v', '/v/1', '/v-1/x', '/v+1/x', '/v1;x', '/v1;x/y', '/v1x', '/vv1', '/v1,v2/x', '/v1%20/x', '/v1%3fx'],
  ...['/%761/x', '/v%31/x', '/1/x', '/api/v2/x', '/x/v1/y', '/v1@evil.test/x', '/v1:80/x', '/v1e0/x', '/v0x1/x'],
  ...['/v99999999999999999999999/x', '/__proto__', '/constructor/x', '/v1&/x', '/v1=/x', '/v1~/x', '/*'],
];

const refused: string[] = [
  ...['//v1/x', '//', '//evil.test/v1/x', '///v1/x', '/\\v1/x', '\\v1\\x', '/v1\\x', '/v1/x\\..\\y', '/v1/\\evil.test'],
  ...['/v1/x#f', '/v1#', '/#/v1/x', '/v1/x#?y', '/v1/\x80', '/v1/\xc3\xa9', '/v1/\x7f', '/v1/\x01', '/v1/a\tb'],
  ...['/v1/%', '/v1/%4', '/v1/%zz', '/v1/%4g', '/v1/%%41', '/v1/%u0041', '/v1/%?x', '/%zz', '/v1/%00', '/v1/x%00.json'],
  ...[
    '/v1/%0a',
    '/v1/%0d%0aX:y',
    '/v1/%1f',
    '/v1/%7f',
    '/v1/%7F',
    '/v1/.',
    '/v1/..',
    '/v1/./x',
    '/v1/../x',
    '/v1/x/..',
  ],
  ...['/v1/x/../../v2', '/../v1/x', '/./v1/x', '/v1/%2e', '/v1/%2e%2e/x', '/v1/%2E%2E/x', '/v1/.%2e/x', '/v1/%2E./x'],
  ...['/v1/..;x/y', '/v1/..;/y', '/v1/.;x/y', '/v1/..;a=b;c/y', '/v1/%2e%2e;x/y', '/v1/..%3bx/y', '/v1/..%3Bx'],
  ...['/v1/a%2f..%2fb', '/v1/..%2fb', '/v1/..%2F', '/v1/a%2f..', '/v1/%2f..%2fb', '/v1/a%5c..%5cb', '/v1/..%5cb'],
  ...['/v1/a%2f%2e%2e%2fb', '/v1/%252e%252e/x', '/v1/%252E%252e%252fx', '/v1/..%252fx', '/v1/..%255cx', '/v1/.%252e/x'],
  ...['/v1/%25%32%65%25%32%65/x', '/nothing/../v1/x', '/nothing/%2e%2e/v1/x', '/v1/x/.', '/v1/x/%2e', '/..', '/.'],
  ...['/v1/..?x', '/v1/x?a\x80', '/v1/x?a\x7f', '/v1/x?a\x01', '/v1/x?a\tb', '/v1/x?\xc3\xa9'],
];

/** Each is appended to `/v1`. */
const passing: string[] = [
  ...['', '/', '/x', '/x/', '?a=b', '/?a=b', '/x?', '/x?a?b', '/a%2fb', '/a%2Fb', '/a%5cb', '/a//b', '/a/', '/a//'],
  ...['/%41', '/%7e', '/%20', '/%C3%A9', '/%ff', '/%3f', '/%23', '/%25', '/%2525', '/a%3bb', '/@evil.test', '/:80/x'],
  ...[
    '/...',
    '/.../x',
    '/.hidden',
    '/a..',
    '/..a',
    '/a..b/x',
    '/a.',
    '/x%2ejson',
    '/%2ehidden',
    '/v1/x',
    '/v2',
    '/a;b=c',
  ],
  ...["/!$&'()*+,;=:@-._~", '/a"<>^`{|}b', '/http://evil.test/', '/x?a=../../y', '/x?a=%2e%2e/', '/x?//y', '/x?a=\\b'],
  ...[
    '/x?a=%zz&b=%',
    '/x?a=%00%0a',
    '/x?http://evil.test/',
    '/x?"<>^`{|}',
    '/__proto__?__proto__=1',
    '/x?a=1&a=2',
    '/A%2fb/C',
  ],
];

/** Appended to `/v1` as well. With the prefix stripped, each would name a host (RFC 3986 §4.2). */
const networkPaths: string[] = ['//', '//b', '///', '//?a=b', '//evil.test/x', '//user@evil.test:80/x', '//%2e.test/x'];

const setups = [
  { base: '', prefix: 'strip', keeps: '' },
  { base: '', prefix: 'forward', keeps: '/v1' },
  { base: '/api', prefix: 'strip', keeps: '' },
  { base: '/api', prefix: 'forward', keeps: '/v1' },
  { base: '/a/b', prefix: 'strip', keeps: '' },
];

describe.each(setups)('below "$base" with $prefix', ({ base, prefix, keeps }) => {
  async function start() {
    const backend = await startBackend();
    const gateway = await startTestGateway(
      { '/v1': { upstream: backend.url, prefix } },
      base === '' ? {} : { gateway: { base_path: base } },
    );
    return { backend, port: gateway.port };
  }

  it.each(unknown)('%j is 404 and is not forwarded', async (target) => {
    const { backend, port } = await start();
    const problem = expectProblem(await ask(port, get(base + target)), 404);
    expect(JSON.stringify(problem['versions'])).toContain('v1');
    expect(backend.bytes).toBe('');
  });

  it.each(refused)('%j is 400 and is not forwarded', async (target) => {
    const { backend, port } = await start();
    // Below a base path an empty segment is inside the path, so there it is no leading `//`.
    expectProblem(
      await ask(port, get(base + target)),
      ...(base !== '' && target.startsWith('//') ? [400, 404] : [400]),
    );
    expect(backend.bytes).toBe('');
  });

  it.each(passing)('/v1%s reaches the backend byte for byte', async (rest) => {
    const { backend, port } = await start();
    expect((await ask(port, get(`${base}/v1${rest}`))).status).toBe(200);
    const expected = keeps + rest;
    expect(backend.request.target).toBe(expected.startsWith('/') ? expected : `/${expected}`);
    expect(backend.request.raw).toMatch(/^GET \/\S* HTTP\/1\.1\r\n/);
  });
});

describe.each(setups)('an empty segment after the version, below "$base" with $prefix', ({ base, prefix, keeps }) => {
  const forms = networkPaths.flatMap((rest) => [rest, `http://api.test${base}/v1${rest}`]);

  it.each(forms)('%j', async (form) => {
    const backend = await startBackend();
    const gateway = await startTestGateway(
      { '/v1': { upstream: backend.url, prefix, deprecation: '2020-01-01', successor: '/v2' }, '/v2': backend.url },
      base === '' ? {} : { gateway: { base_path: base } },
    );
    const isOrigin = form.startsWith('/');
    const response = await ask(gateway.port, get(isOrigin ? `${base}/v1${form}` : form));
    // Answered by a version that is known, and the same path is refused below the successor.
    expect(valuesOf(response, 'Deprecation')).toHaveLength(1);
    expect(valuesOf(response, 'Link')).toEqual([]);
    if (prefix === 'forward') {
      expect(response.status).toBe(200);
      expect(backend.request.target).toBe(keeps + form.slice(isOrigin ? 0 : `http://api.test${base}/v1`.length));
    } else {
      expectProblem(response, 400);
      expect(backend.bytes).toBe('');
    }
  });
});

describe('a base path', () => {
  it.each([
    '/v1/x',
    '/API/v1/x',
    '/apiv1/x',
    '/api%2fv1/x',
    '/%61pi/v1/x',
    '/api/api/v1/x',
    '/apis/v1/x',
    '/x/api/v1/x',
  ])('%s is not below it', async (target) => {
    const backend = await startBackend();
    const gateway = await startTestGateway({ '/v1': backend.url }, { gateway: { base_path: '/api' } });
    expectProblem(await ask(gateway.port, get(target)), 404);
    expect(backend.bytes).toBe('');
  });
});
