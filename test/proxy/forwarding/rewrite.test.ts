import { describe, expect, it } from 'vitest';
import {
  rewriteCookie,
  rewriteLink,
  rewriteReference,
  rewriteRefresh,
  type UrlRewriting,
} from '../../../gateway/proxy/forwarding/rewrite.ts';

const versions = new Set(['v1', 'v2']);
const isVersion = (segment: string): boolean => versions.has(segment);

/** `/v1` is stripped; below `/api`, `/api/v1` is. */
const v1: UrlRewriting = { removedPrefix: '/v1', versionBase: '', basePath: '', isVersion };
const apiV1: UrlRewriting = { removedPrefix: '/api/v1', versionBase: '', basePath: '/api', isVersion };
const authorities = { target: 'backend:3001', client: 'api.test', public: '' };

describe('a reference', () => {
  it.each([
    ['a path', '/drinks/7', '/v1/drinks/7'],
    ['the root', '/', '/v1/'],
    ['a path with query and fragment', '/drinks?to=/x#/y', '/v1/drinks?to=/x#/y'],
    ['a path whose first segment begins like a version', '/v1x/y', '/v1/v1x/y'],
    ['a major that is not configured', '/v3/x', '/v1/v3/x'],
    ['another spelling of a version', '/V1/x', '/v1/V1/x'],
    ['a version that is not first', '/x/v1', '/v1/x/v1'],
    ['an escape', '/a%2Fb%c3', '/v1/a%2Fb%c3'],
    ['bytes above ASCII', '/caf\xe9', '/v1/caf\xe9'],
    ['an inner //', '/a//b', '/v1/a//b'],
    ['this version, as a prefix-aware backend writes it', '/v1/drinks', '/v1/drinks'],
    ['this version alone', '/v1', '/v1'],
    ['this version with a query', '/v1?x', '/v1?x'],
    ['this version with a fragment', '/v1#x', '/v1#x'],
    ['another major', '/v2/drinks', '/v2/drinks'],
  ])('that is root-relative: %s', (_name, given, expected) =>
    expect(rewriteReference(given, v1, authorities)).toBe(expected),
  );

  it.each([
    ['of the backend', 'http://backend:3001/drinks', '/v1/drinks'],
    ['of the backend, in another case', 'HTTP://BackEnd:3001/drinks', '/v1/drinks'],
    ['of the backend, over TLS', 'https://backend:3001/drinks', '/v1/drinks'],
    ['of the backend, without a scheme', '//backend:3001/drinks', '/v1/drinks'],
    ['of the backend, without a path', 'http://backend:3001', '/v1/'],
    ['of the backend, with only a query', 'http://backend:3001?x', '/v1/?x'],
    ['of the backend, to this version', 'http://backend:3001/v1/drinks', '/v1/drinks'],
    ['of the backend, to another major', 'http://backend:3001/v2/drinks', '/v2/drinks'],
    ['of the gateway', 'https://api.test/drinks', 'https://api.test/v1/drinks'],
    ['of the gateway, in another case', 'https://API.test/drinks', 'https://API.test/v1/drinks'],
    ['of the gateway, without a scheme', '//api.test/drinks', '//api.test/v1/drinks'],
    ['of the gateway, without a path', 'https://api.test', 'https://api.test/v1/'],
    ['of the gateway, to this version', 'https://api.test/v1/drinks', 'https://api.test/v1/drinks'],
    ['of the gateway, to another major', 'https://api.test/v2/drinks', 'https://api.test/v2/drinks'],
  ])('with the origin %s', (_name, given, expected) => expect(rewriteReference(given, v1, authorities)).toBe(expected));

  // RFC 3986 §6.2.3: the port of a scheme may be there or not.
  const [backend, ours] = [
    { target: 'backend', client: 'api.test', public: '' },
    { target: 'backend:80', client: 'api.test:443', public: '' },
  ];
  it.each([
    ['of the backend', 'http://backend:80/x', backend, '/v1/x'],
    ['of the backend, over TLS', 'https://backend:443/x', backend, '/v1/x'],
    ['of the backend, without a path', 'http://backend:80', backend, '/v1/'],
    ['of the backend, empty', 'http://backend:/x', backend, '/v1/x'],
    ['of the backend, which gets requests with it', 'http://backend/x', ours, '/v1/x'],
    ['of an address', 'http://[::1]:80/x', { ...backend, target: '[::1]' }, '/v1/x'],
    ['of the gateway', 'http://api.test:80/x', backend, 'http://api.test:80/v1/x'],
    ['of the gateway, over TLS', 'https://api.test:443/x', backend, 'https://api.test:443/v1/x'],
    ['of the gateway, which gets requests with it', 'https://api.test/x', ours, 'https://api.test/v1/x'],
  ])('with the default port %s', (_name, given, both, expected) =>
    expect(rewriteReference(given, v1, both)).toBe(expected),
  );

  it.each([
    'http://backend:8080/x',
    'http://backend:800/x',
    'http://backend:8/x',
    'http://backend80/x',
    'http://backend:80:80/x',
    'http://backend.test:80/x',
  ])('with another port is unchanged: %s', (given) => expect(rewriteReference(given, v1, backend)).toBe(given));

  it('keeps the origin if only a default port distinguishes the gateway from the backend', () =>
    expect(
      rewriteReference('http://api.test:80/x', v1, { target: 'api.test:80', client: 'api.test', public: '' }),
    ).toBe('http://api.test:80/v1/x'));

  it('keeps the origin if the backend gets requests under the name of the gateway', () =>
    expect(rewriteReference('http://api.test/x', v1, { target: 'api.test', client: 'api.test', public: '' })).toBe(
      'http://api.test/v1/x',
    ));

  it.each([
    ['nothing', ''],
    ['a relative path', 'drinks/7'],
    ['a relative path with dots', '../drinks'],
    ['a query', '?page=2'],
    ['a fragment', '#top'],
    ['another host', 'https://example.com/drinks'],
    ['another host without a scheme', '//example.com/drinks'],
    ['another port of the backend', 'http://backend:3002/drinks'],
    ['the backend without its port', 'http://backend/drinks'],
    ['a host that begins like the gateway’s', 'https://api.test.example.com/drinks'],
    ['a host that ends like the gateway’s', 'https://my.api.test/drinks'],
    ['userinfo', 'https://api.test@example.com/drinks'],
    ['another scheme', 'ftp://backend:3001/drinks'],
    ['an address', 'mailto:me@api.test'],
    ['a script', 'javascript:/x/'],
    ['a URN', 'urn:isbn:0'],
  ])('is unchanged: %s', (_name, given) => expect(rewriteReference(given, v1, authorities)).toBe(given));

  it.each([
    ['/drinks', '/api/v1/drinks'],
    ['/api/v1/drinks', '/api/v1/drinks'],
    ['/api/v2/drinks', '/api/v2/drinks'],
    ['/api/drinks', '/api/v1/api/drinks'],
    ['/apiv1/drinks', '/api/v1/apiv1/drinks'],
    ['/api', '/api/v1/api'],
    ['http://backend:3001/drinks', '/api/v1/drinks'],
    ['https://api.test/drinks', 'https://api.test/api/v1/drinks'],
  ])('below a base path: %s becomes %s', (given, expected) =>
    expect(rewriteReference(given, apiV1, authorities)).toBe(expected),
  );
});

describe('the targets of Link', () => {
  it.each([
    ['one link', '</drinks>; rel="next"', '</v1/drinks>; rel="next"'],
    [
      'several in a line',
      '</a>; rel=next, <http://backend:3001/b>;rel=prev,</v2/c>;rel=x',
      '</v1/a>; rel=next, </v1/b>;rel=prev,</v2/c>;rel=x',
    ],
    ['no white space', '</a>;rel=next', '</v1/a>;rel=next'],
    ['a comma and a semicolon in a target', '</a,b;c>; rel=next', '</v1/a,b;c>; rel=next'],
    ['a quoted text that looks like a link', '</a>; title="</b>"', '</v1/a>; title="</b>"'],
    ['an escaped quote in quotes', '</a>; title="\\"</b>"', '</v1/a>; title="\\"</b>"'],
    ['a relative target', '<?page=2>; rel=next', '<?page=2>; rel=next'],
    ['a quote that is not closed', '</a>; title="</b>', '</v1/a>; title="</b>'],
    ['a bracket that is not closed, behind a link', '</a>; rel=next, </b', '</v1/a>; rel=next, </b'],
    ['a quote in a target', '</a"b>; rel=next, </c>', '</v1/a"b>; rel=next, </v1/c>'],
    ['an escaped backslash at the end of quotes', '</a>; title="\\\\", </b>', '</v1/a>; title="\\\\", </v1/b>'],
    ['an empty target', '<>; rel=self', '<>; rel=self'],
    ['another host', '<https://example.com/a>; rel=next', '<https://example.com/a>; rel=next'],
    ['no link', 'nonsense', 'nonsense'],
    ['a bracket that is not closed', '</a', '</a'],
    ['a pattern of replacements', '</$&$1>; rel=next', '</v1/$&$1>; rel=next'],
  ])('%s', (_name, given, expected) => expect(rewriteLink(given, v1, authorities)).toBe(expected));
});

describe('a Link of 60,000 bytes', () => {
  it.each([
    ['unclosed brackets', '<'.repeat(30_000), '<'.repeat(30_000)],
    ['escaped quotes in unclosed quotes', `"${'\\"'.repeat(30_000)}`, `"${'\\"'.repeat(30_000)}`],
    ['backslashes in unclosed quotes', `"${'\\'.repeat(30_000)}`, `"${'\\'.repeat(30_000)}`],
    ['empty quotes', '""'.repeat(30_000), '""'.repeat(30_000)],
    ['brackets of which the last one closes', `${'<'.repeat(30_000)}>`, `${'<'.repeat(30_000)}>`],
    ['empty targets', '<>'.repeat(30_000), '<>'.repeat(30_000)],
    ['targets', '</>,'.repeat(15_000), '</v1/>,'.repeat(15_000)],
  ])('may end in %s', (_name, given, expected) =>
    expect(rewriteLink(`</a>; rel=next, ${given}`, v1, authorities)).toBe(`</v1/a>; rel=next, ${expected}`),
  );

  it('may have escaped quotes in front of a link', () => {
    const title = `title="${'\\"'.repeat(30_000)}</b>"`;
    expect(rewriteLink(`</a>; ${title}, </c>`, v1, authorities)).toBe(`</v1/a>; ${title}, </v1/c>`);
  });
});

// HTML §4.2.5.3.
describe('the target of Refresh', () => {
  it.each([
    ['5; url=/x', '5; url=/v1/x'],
    ['5;url=/x', '5;url=/v1/x'],
    ['0; URL=/x', '0; URL=/v1/x'],
    ['5 ; url = /x', '5 ; url = /v1/x'],
    ['5; url="/x"', '5; url="/v1/x"'],
    ["5; url='/x'", "5; url='/v1/x'"],
    ['5, url=/x', '5, url=/v1/x'],
    ['5; /x', '5; /v1/x'],
    ['5 url=/x', '5 url=/v1/x'],
    ['5 /x', '5 /v1/x'],
    ['5\turl=/x', '5\turl=/v1/x'],
    ['5  "/x"', '5  "/v1/x"'],
    ['5; url="/x', '5; url="/v1/x'],
    ["5; url='/x", "5; url='/v1/x"],
    ['5 url="http://backend:3001/x', '5 url="/v1/x'],
    ['5; url="/x" more', '5; url="/v1/x" more'],
    ['5; url="/x\'y"', '5; url="/v1/x\'y"'],
    ['5; "/x"', '5; "/v1/x"'],
    ['5; url="/v2/x', '5; url="/v2/x'],
    ['5; url="', '5; url="'],
    ['5 x', '5 x'],
    ['0.5; url=/x', '0.5; url=/v1/x'],
    ['5; url=http://backend:3001/x', '5; url=/v1/x'],
    ['5; url=/v2/x', '5; url=/v2/x'],
    ['5; url=/x;y=url=/z', '5; url=/v1/x;y=url=/z'],
    ['5; url=https://example.com/x', '5; url=https://example.com/x'],
    ['5; url=x', '5; url=x'],
    ['5; url=', '5; url='],
    ['5;', '5;'],
    ['5', '5'],
    ['', ''],
    ['soon', 'soon'],
  ])('%j becomes %j', (given, expected) => expect(rewriteRefresh(given, v1, authorities)).toBe(expected));
});

describe('the Path of Set-Cookie', () => {
  it.each([
    ['the root', 'a=b; Path=/', 'a=b; Path=/v1'],
    ['a path', 'a=b; Path=/drinks', 'a=b; Path=/v1/drinks'],
    ['other letters', 'a=b; PATH=/x', 'a=b; PATH=/v1/x'],
    ['no white space', 'a=b;path=/x;secure', 'a=b;path=/v1/x;secure'],
    ['much white space', 'a=b ; Path = /x ; Secure', 'a=b ; Path = /v1/x ; Secure'],
    ['attributes around it', 'a=b; Secure; Path=/; HttpOnly', 'a=b; Secure; Path=/v1; HttpOnly'],
    ['two of them, of which the last one counts', 'a=b; Path=/x; Path=/', 'a=b; Path=/v1/x; Path=/v1'],
    ['this version', 'a=b; Path=/v1', 'a=b; Path=/v1'],
    ['below this version', 'a=b; Path=/v1/x', 'a=b; Path=/v1/x'],
    ['another major', 'a=b; Path=/v2', 'a=b; Path=/v2'],
    ['a path that begins like a version', 'a=b; Path=/v1x', 'a=b; Path=/v1/v1x'],
    ['a __Secure- cookie', '__Secure-a=b; Path=/; Secure', '__Secure-a=b; Path=/v1; Secure'],
    ['none', 'a=b; Secure', 'a=b; Secure'],
    ['an empty one', 'a=b; Path=; Secure', 'a=b; Path=; Secure'],
    ['a relative path', 'a=b; Path=x', 'a=b; Path=x'],
    ['a cookie named path', 'path=/x', 'path=/x'],
    ['an attribute whose name ends with path', 'a=b; xpath=/x', 'a=b; xpath=/x'],
    ['a __Host- cookie', '__Host-a=b; Path=/; Secure', '__Host-a=b; Path=/; Secure'],
    ['a __Host- cookie in another case', '__hOST-a=b; Path=/; Secure', '__hOST-a=b; Path=/; Secure'],
  ])('%s', (_name, given, expected) => expect(rewriteCookie(given, v1)).toBe(expected));

  it.each([
    ['a=b; Path=/', 'a=b; Path=/api/v1'],
    ['a=b; Path=/x', 'a=b; Path=/api/v1/x'],
    ['a=b; Path=/api/v1', 'a=b; Path=/api/v1'],
    ['a=b; Path=/api/v2/x', 'a=b; Path=/api/v2/x'],
  ])('below a base path: %s becomes %s', (given, expected) => expect(rewriteCookie(given, apiV1)).toBe(expected));
});
