import { describe, expect, it } from 'vitest';
import { parseResponseHead } from '../../../gateway/http1/responseHead.ts';
import {
  addLifecycleFields,
  forwardableTrailers,
  type LifecycleFields,
  type ResponsePlan,
  responseFields,
} from '../../../gateway/proxy/forwarding/responseFields.ts';

const plan: ResponsePlan = {
  urlRewriting: undefined,
  authorities: { target: 'backend:3001', client: 'api.test', public: '' },
  lifecycle: undefined,
  cacheVariation: undefined,
  pseudonym: 'gw',
  trailers: true,
  hsts: false,
};
const stripped: Partial<ResponsePlan> = {
  urlRewriting: {
    removedPrefix: '/v1',
    basePath: '',
    versionBase: '',
    isVersion: (segment) => segment === 'v1' || segment === 'v2',
  },
};
const successor = '</v2/x>; rel="successor-version"';
const deprecated: LifecycleFields = {
  deprecation: '@1782777600',
  sunset: undefined,
  links: [successor],
  deprecatedAt: Date.parse('2026-06-30T00:00:00Z'),
};
const sunset = 'Fri, 30 Jun 2028 23:59:59 GMT';
const ending: LifecycleFields = { ...deprecated, sunset };

/** The lines that a client gets for a response with these fields, without the final Via of the gateway. */
function fields(lines: readonly string[], parts: Partial<ResponsePlan> = {}, statusLine = 'HTTP/1.1 200 OK'): string[] {
  const out = allFields(lines, parts, statusLine);
  expect(out.at(-1)).toBe('Via: 1.1 gw');
  return out.slice(0, -1);
}

function allFields(lines: readonly string[], parts: Partial<ResponsePlan>, statusLine: string): string[] {
  const head = parseResponseHead(`${[statusLine, ...lines].join('\r\n')}\r\n\r\n`);
  const pairs = responseFields(head, { ...plan, ...parts });
  return pairs.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${pairs[at + 1]}`] : []));
}

describe('fields pass', () => {
  it.each([
    ['in their order, spelling and number', ['b: 1', 'A: 2', 'Set-Cookie: x', 'SET-COOKIE: y', 'b: 1']],
    ['about the content', ['Content-Type: a/b', 'Content-Length: 5', 'Content-Encoding: gzip', 'ETag: "a"']],
    ['with any value', ['X: caf\xe9 "a, b"', 'Y: ']],
    ['with names of Object.prototype', ['__proto__: 1', 'constructor: 2']],
    ['that name earlier proxies', ['Via: 1.1 a', 'Via: 1.1 b']],
    ['of an active version about its end', ['Deprecation: true', 'Sunset: soon', 'Link: </x>; rel="sunset"']],
    ['with URLs, if the prefix is forwarded', ['Location: /x', 'Link: </x>', 'Set-Cookie: a=b; Path=/']],
    ['about CORS, of an active version', ['Access-Control-Allow-Origin: *']],
  ])('%s', (_name, lines) => expect(fields(lines)).toEqual(lines));
});

// RFC 9110 §7.6.3: the version of the message that was received.
it.each([
  ['HTTP/1.1', '1.1'],
  ['HTTP/1.0', '1.0'],
])('the last Via has the HTTP version of the backend: %s', (version, expected) => {
  const out = allFields(['Via: 1.1 a', 'X: 1'], { lifecycle: ending }, `${version} 200 OK`);
  expect(out.slice(0, 2)).toEqual(['Via: 1.1 a', 'X: 1']);
  expect(out.slice(2).filter((line) => line.startsWith('Via'))).toEqual([`Via: ${expected} gw`]);
  expect(out.at(-1)).toBe(`Via: ${expected} gw`);
});

describe('hop-by-hop fields', () => {
  it.each([
    ['Connection', ['Connection: close']],
    ['Keep-Alive', ['Keep-Alive: timeout=5']],
    ['Proxy-Connection', ['Proxy-Connection: keep-alive']],
    ['Proxy-Authenticate', ['Proxy-Authenticate: Basic']],
    ['Proxy-Authentication-Info', ['Proxy-Authentication-Info: a']],
    ['TE', ['TE: trailers']],
    ['Transfer-Encoding', ['Transfer-Encoding: chunked']],
    ['Upgrade', ['Upgrade: websocket']],
    ['fields that Connection names', ['Connection: X-A, x-b', 'x-a: 1', 'X-B: 2', 'X-B: 3']],
    ['fields that a second Connection names', ['Connection: close', 'X-A: 1', 'Connection: X-A']],
  ])('are dropped: %s', (_name, lines) => expect(fields(['A: 1', ...lines, 'B: 2'])).toEqual(['A: 1', 'B: 2']));

  it.each([
    ['Content-Length', 'Content-Length: 5'],
    ['Content-Type', 'Content-Type: a/b'],
    ['Content-Encoding', 'Content-Encoding: gzip'],
    ['Set-Cookie', 'Set-Cookie: a=b'],
  ])('do not remove %s', (name, line) => expect(fields([`Connection: ${name}`, line])).toEqual([line]));
});

describe('a Content-Length', () => {
  it.each([
    [200, true],
    [206, true],
    [404, true],
    [500, true],
    [103, false],
    [204, false],
    [304, false],
  ])('of a %i is passed on: %s', (status, passes) =>
    expect(fields(['Content-Length: 5'], {}, `HTTP/1.1 ${status} X`)).toEqual(passes ? ['Content-Length: 5'] : []),
  );
});

it.each([
  ['of a chunked body, when they can follow', ['Transfer-Encoding: chunked'], true, ['Trailer: X']],
  ['of a chunked body, when they cannot', ['Transfer-Encoding: chunked'], false, []],
  ['of another body', ['Content-Length: 5'], true, ['Content-Length: 5']],
])('Trailer is passed on if trailers can follow: %s', (_name, lines, trailers, expected) =>
  expect(fields([...lines, 'Trailer: X'], { trailers })).toEqual(expected),
);

it.each([
  ['Location: /x', 'Location: /v1/x'],
  ['location: http://backend:3001/x', 'location: /v1/x'],
  ['Content-Location: /x', 'Content-Location: /v1/x'],
  ['Refresh: 5; url=/x', 'Refresh: 5; url=/v1/x'],
  ['Link: </x>; rel=next', 'Link: </v1/x>; rel=next'],
  ['Set-Cookie: a=b; Path=/', 'Set-Cookie: a=b; Path=/v1'],
  ['Location: /v2/x', 'Location: /v2/x'],
  ['X-Location: /x', 'X-Location: /x'],
])('with a stripped prefix, %s becomes %s', (line, expected) => expect(fields([line], stripped)).toEqual([expected]));

it('puts a file name above ASCII first, because node:http keeps its bytes there', () =>
  expect(fields(['A: 1', 'Content-Disposition: attachment; filename="\xe9"', 'Content-Length: 5'])).toEqual([
    'Content-Disposition: attachment; filename="\xe9"',
    'A: 1',
    'Content-Length: 5',
  ]));

describe('the announcement of a version', () => {
  const announced = [`Deprecation: ${ending.deprecation}`, `Sunset: ${sunset}`, `Link: ${successor}`];

  it.each([
    ['a 200', 'HTTP/1.1 200 OK'],
    ['a redirect', 'HTTP/1.1 302 Found'],
    ['a 304', 'HTTP/1.1 304 Not Modified'],
    ['an error of the client', 'HTTP/1.1 404 Not Found'],
    ['an error of the backend', 'HTTP/1.1 500 Oops'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols'],
  ])('is in the response for %s', (_name, statusLine) =>
    expect(fields(['A: 1'], { lifecycle: ending }, statusLine)).toEqual(['A: 1', ...announced]),
  );

  it.each([
    ['a deprecation', ['Deprecation: true', 'deprecation: @1'], announced],
    ['a sunset', ['Sunset: Sat, 01 Jul 2028 00:00:00 GMT', 'sunset: soon'], announced],
    [
      'links, which come before those of the gateway',
      ['Link: </a>; rel=a', 'link: </b>; rel=b'],
      ['Link: </a>; rel=a', 'link: </b>; rel=b', ...announced],
    ],
  ])('replaces or extends the fields of the backend: %s', (_name, lines, expected) =>
    expect(fields(lines, { lifecycle: ending })).toEqual(expected),
  );

  it.each([
    ['none', [], undefined],
    ['a later one', [sunset], sunset],
    ['one at the deprecation', ['Tue, 30 Jun 2026 00:00:00 GMT'], 'Tue, 30 Jun 2026 00:00:00 GMT'],
    ['one in the format of RFC 850', ['Friday, 30-Jun-28 23:59:59 GMT'], sunset],
    ['one in the format of asctime', ['Fri Jun 30 23:59:59 2028'], sunset],
    ['one in an older format that is too early', ['Mon Jun 29 23:59:59 2026'], undefined],
    ['one on a day that does not exist', ['Wed, 31 Feb 2029 00:00:00 GMT'], undefined],
    ['one a second before the deprecation', ['Mon, 29 Jun 2026 23:59:59 GMT'], undefined],
    ['one that is not a valid date', ['2028-06-30'], undefined],
    ['several, of which the first is valid', [sunset, 'Sat, 01 Jul 2028 00:00:00 GMT'], sunset],
    ['several, of which the second can be read', ['soon', sunset], sunset],
    ['several, of which the first is too early', ['Mon, 29 Jun 2026 23:59:59 GMT', sunset], sunset],
  ])('has the sunset of the backend if the file has none: %s', (_name, given, expected) => {
    const lines = fields(
      given.map((value) => `Sunset: ${value}`),
      { lifecycle: deprecated },
    );
    expect(lines.filter((line) => line.startsWith('Sunset'))).toEqual(
      expected === undefined ? [] : [`Sunset: ${expected}`],
    );
  });

  it('is the only lifecycle field of a tombstone without dates', () =>
    expect(
      fields(['Deprecation: @1', `Sunset: ${sunset}`], {
        lifecycle: { deprecation: undefined, sunset: undefined, links: [], deprecatedAt: undefined },
      }),
    ).toEqual([`Sunset: ${sunset}`]));

  it('may have no link and several', () => {
    expect(fields([], { lifecycle: { ...deprecated, links: [] } })).toEqual([`Deprecation: ${ending.deprecation}`]);
    expect(fields([], { lifecycle: { ...ending, links: ['<a>', '<b>'] } }).slice(2)).toEqual([
      'Link: <a>',
      'Link: <b>',
    ]);
  });

  it('is not rewritten with the links of the backend', () =>
    expect(fields(['Link: </x>'], { ...stripped, lifecycle: { ...deprecated, links: ['</y>'] } })).toEqual([
      'Link: </v1/x>',
      `Deprecation: ${ending.deprecation}`,
      'Link: </y>',
    ]));
});

describe('Access-Control-Expose-Headers', () => {
  const exposed = (given: readonly string[], lifecycle: LifecycleFields | undefined): string[] =>
    fields(['X: 1', ...given], { lifecycle }).flatMap(
      (line) => /^access-control-expose-headers: (.*)$/i.exec(line)?.slice(1) ?? [],
    );

  it.each([
    ['is not added without Access-Control-Allow-Origin', [], []],
    ['is kept without Access-Control-Allow-Origin', ['Access-Control-Expose-Headers: X'], ['X']],
    ['has the three lifecycle fields', ['Access-Control-Allow-Origin: *'], ['Deprecation, Sunset, Link']],
    [
      'has the three after others',
      ['Access-Control-Allow-Origin: *', 'Access-Control-Expose-Headers: X, Y'],
      ['X, Y, Deprecation, Sunset, Link'],
    ],
    [
      'has the three, in any order of the two fields',
      ['Access-Control-Expose-Headers: X', 'Access-Control-Allow-Origin: https://a.test'],
      ['X, Deprecation, Sunset, Link'],
    ],
    [
      'gets the missing ones',
      ['Access-Control-Allow-Origin: *', 'Access-Control-Expose-Headers: link ,DEPRECATION'],
      ['link ,DEPRECATION, Sunset'],
    ],
    [
      'is unchanged if it has all three',
      ['Access-Control-Allow-Origin: *', 'Access-Control-Expose-Headers: Sunset,Link,Deprecation'],
      ['Sunset,Link,Deprecation'],
    ],
    [
      'has the three after an empty list',
      ['Access-Control-Allow-Origin: *', 'Access-Control-Expose-Headers: '],
      ['Deprecation, Sunset, Link'],
    ],
    [
      'has the three by name, besides a *',
      ['Access-Control-Allow-Origin: *', 'Access-Control-Expose-Headers: *'],
      ['*, Deprecation, Sunset, Link'],
    ],
    [
      'gets in its last line those that no line has',
      [
        'Access-Control-Allow-Origin: *',
        'Access-Control-Expose-Headers: Sunset, X',
        'access-control-expose-headers: Link',
        'Access-Control-Expose-Headers: Y',
      ],
      ['Sunset, X', 'Link', 'Y, Deprecation'],
    ],
    [
      'is unchanged if several lines together have all three',
      [
        'Access-Control-Expose-Headers: Sunset',
        'Access-Control-Allow-Origin: *',
        'Access-Control-Expose-Headers: link,deprecation',
      ],
      ['Sunset', 'link,deprecation'],
    ],
    [
      'gets the missing ones after a file name above ASCII',
      [
        'Access-Control-Allow-Origin: *',
        'Access-Control-Expose-Headers: Link',
        'Content-Disposition: attachment; filename="\xe9"',
      ],
      ['Link, Deprecation, Sunset'],
    ],
    [
      'gets the missing ones before and between file names above ASCII',
      [
        'Content-Disposition: inline; filename="\x80"',
        'Access-Control-Expose-Headers: X',
        'Content-Disposition: attachment; filename="\xff"',
        'Access-Control-Expose-Headers: Sunset',
        'Access-Control-Allow-Origin: *',
      ],
      ['X', 'Sunset, Deprecation, Link'],
    ],
  ])('%s', (_name, given, expected) => expect(exposed(given, ending)).toEqual(expected));

  it('is the only field that changes', () =>
    expect(
      fields(
        [
          'X: 1',
          'Access-Control-Allow-Origin: *',
          'Access-Control-Expose-Headers: Link',
          'Content-Disposition: attachment; filename="\xe9"',
          'Y: 2',
        ],
        { lifecycle: ending },
      ),
    ).toEqual([
      'Content-Disposition: attachment; filename="\xe9"',
      'X: 1',
      'Access-Control-Allow-Origin: *',
      'Access-Control-Expose-Headers: Link, Deprecation, Sunset',
      'Y: 2',
      `Deprecation: ${ending.deprecation}`,
      `Sunset: ${sunset}`,
      `Link: ${successor}`,
    ]));

  it('is unchanged for an active version', () =>
    expect(exposed(['Access-Control-Allow-Origin: *'], undefined)).toEqual([]));
});

it.each([
  ['all of it', ending, undefined, ['Deprecation', '@1782777600', 'Sunset', sunset, 'Link', successor]],
  ['without a sunset', deprecated, undefined, ['Deprecation', '@1782777600', 'Link', successor]],
  [
    'with a sunset of the backend',
    deprecated,
    sunset,
    ['Deprecation', '@1782777600', 'Sunset', sunset, 'Link', successor],
  ],
  [
    'with the sunset of the file first',
    ending,
    'soon',
    ['Deprecation', '@1782777600', 'Sunset', sunset, 'Link', successor],
  ],
  ['of a tombstone without dates', { ...deprecated, deprecation: undefined, links: [] }, undefined, []],
])('is announced behind other fields: %s', (_name, lifecycle, ofBackend, expected) => {
  const out = ['A', '1'];
  addLifecycleFields(out, lifecycle, ofBackend);
  expect(out).toEqual(['A', '1', ...expected]);
});

it.each([
  ['none', [], []],
  ['one', ['X', '1'], [['X', '1']]],
  [
    'order, spelling and duplicates',
    ['b', '1', 'A', '2', 'b', '3'],
    [
      ['b', '1'],
      ['A', '2'],
      ['b', '3'],
    ],
  ],
  [
    'a status after the body',
    ['grpc-status', '0', 'grpc-message', ''],
    [
      ['grpc-status', '0'],
      ['grpc-message', ''],
    ],
  ],
  ['a digest', ['Content-Digest', 'sha-256=:a:'], [['Content-Digest', 'sha-256=:a:']]],
  ['a timing', ['Server-Timing', 'db;dur=1'], [['Server-Timing', 'db;dur=1']]],
])('trailers are passed on: %s', (_name, trailers, expected) =>
  expect(forwardableTrailers(trailers)).toEqual(expected),
);

// RFC 9110 §6.5.1.
it.each([
  ...[
    'Transfer-Encoding',
    'Content-Length',
    'Trailer',
    'Connection',
    'Upgrade',
    'TE',
    'Keep-Alive',
    'Proxy-Connection',
  ],
  ...['Host', 'Cache-Control', 'Expires', 'Age', 'Date', 'Vary', 'Location', 'Retry-After', 'Via', 'Warning'],
  ...['Authorization', 'Proxy-Authorization', 'WWW-Authenticate', 'Proxy-Authenticate', 'Set-Cookie'],
  ...['Content-Encoding', 'Content-Type', 'Content-Range'],
])('a trailer is dropped: %s', (name) => {
  for (const spelling of [name, name.toLowerCase(), name.toUpperCase()]) {
    expect(forwardableTrailers(['A', '1', spelling, 'x', 'B', '2'])).toEqual([
      ['A', '1'],
      ['B', '2'],
    ]);
  }
});
