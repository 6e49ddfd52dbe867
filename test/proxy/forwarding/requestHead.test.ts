import { describe, expect, it } from 'vitest';
import {
  forwardingFieldsOf,
  type RequestFields,
  type RequestHeadParts,
  readRequestFields,
  requestHead,
} from '../../../gateway/proxy/forwarding/requestHead.ts';

/** The fields of `lines`, by default from an untrusted peer. */
function read(lines: readonly string[], trusted = false): RequestFields {
  const raw = lines.flatMap((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
  return readRequestFields(raw, trusted);
}

/** The lines that are passed on unchanged. */
function passed(lines: readonly string[], trusted = false): string[] {
  return read(lines, trusted).passedLines.split('\r\n').slice(0, -1);
}

describe('fields pass', () => {
  it.each([
    ['in their order, spelling and number', ['b: 1', 'A: 2', 'B: 3', 'b: 1']],
    ['with any value', ['X: a, "b";c=d', 'Y: ', 'Z: caf\xe9']],
    ['if they are unknown', ['X-Unheard-Of: 1', '!#$%: 2']],
    ['about the content', ['Content-Type: a/b', 'Content-Encoding: gzip', 'Content-Range: bytes 0-1/2']],
    ['about conditions and ranges', ['If-None-Match: "a"', 'Range: bytes=0-', 'If-Range: "a"']],
    ['about the client', ['Authorization: Basic x', 'Cookie: a=b', 'Cookie: c=d', 'From: me@api.test']],
    ['about the origin of the request', ['Origin: https://a.test', 'Referer: https://a.test/']],
    ['about a preflight', ['Access-Control-Request-Method: PUT', 'Access-Control-Request-Headers: x']],
    ['with an underscore and no special meaning', ['X_Custom_Field: 1', '_: 2']],
    ['about a WebSocket', ['Sec-WebSocket-Key: a', 'Sec-WebSocket-Version: 13']],
    ['with names of Object.prototype', ['__proto__: 1', 'constructor: 2', 'hasOwnProperty: 3']],
  ])('%s', (_name, lines) => {
    expect(passed(lines)).toEqual(lines);
    expect(passed(lines, true)).toEqual(lines);
  });
});

describe('fields are dropped', () => {
  // RFC 9110 §7.6.1, and fields of earlier RFCs.
  const hopByHop = [
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Proxy-Authorization',
    'Proxy-Authenticate',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'HTTP2-Settings',
  ];
  const ours = ['Host', 'Content-Length', 'Via', 'X-Request-Id', 'Expect', 'Max-Forwards'];
  const lists = ['For', 'Proto', 'Host', 'Port', 'Prefix'].map((name) => `X-Forwarded-${name}`);
  const claims = ['Forwarded', 'X-Real-IP', 'X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Server', 'True-Client-IP'];

  it.each([...hopByHop, ...ours, ...lists, 'Proxy'])('from any peer: %s', (name) => {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase(), name.replaceAll('-', '_')]) {
      expect(passed([`${spelling}: close`])).toEqual([]);
      expect(passed([`${spelling}: close`], true)).toEqual([]);
    }
  });

  it.each(claims)('from an untrusted peer: %s', (name) => {
    for (const spelling of [name, name.toLowerCase(), name.replaceAll('-', '_')]) {
      expect(passed([`${spelling}: 1`])).toEqual([]);
      expect(passed([`${spelling}: 1`], true)).toEqual([`${spelling}: 1`]);
    }
  });

  it.each([
    ['one', ['Connection: X-A', 'X-A: 1', 'X-B: 2'], ['X-B: 2']],
    ['several', ['X-A: 1', 'Connection: keep-alive, x-a ,X-B', 'X-b: 2', 'X-C: 3'], ['X-C: 3']],
    ['in several lines', ['Connection: X-A', 'Connection: X-B', 'X-A: 1', 'X-B: 2'], []],
    ['all of a name', ['Connection: X-A', 'X-A: 1', 'x-a: 2'], []],
    ['beside empty members', ['Connection: ,,X-A,', 'X-A: 1'], []],
    ['but not Authorization', ['Connection: authorization', 'Authorization: a'], ['Authorization: a']],
    ['but not Cookie', ['Connection: Cookie', 'Cookie: a=b'], ['Cookie: a=b']],
    ['but not Content-Type', ['Connection: content-type', 'Content-Type: a/b'], ['Content-Type: a/b']],
    ['and no field for close', ['Connection: close', 'Close: 1'], ['Close: 1']],
    ['and no field for keep-alive', ['Connection: Keep-Alive', 'X: 1'], ['X: 1']],
  ])('when Connection names them: %s', (_name, lines, expected) => expect(passed(lines)).toEqual(expected));

  it('but not the framing, even if Connection names it', () =>
    expect(read(['Connection: host, content-length, transfer-encoding', 'Host: a', 'Content-Length: 5'])).toMatchObject(
      { hostCount: 1, host: 'a', contentLength: '5' },
    ));
});

describe('the fields that the gateway evaluates', () => {
  it.each<[field: keyof RequestFields, lines: string[], expected: unknown]>([
    ['host', ['Host: api.test'], 'api.test'],
    ['hostCount', [], 0],
    ['hostCount', ['Host: a', 'host: b'], 2],
    ['contentLength', [], undefined],
    ['contentLength', ['Content-Length: 5'], '5'],
    ['transferEncoding', ['Transfer-Encoding: gzip', 'transfer-encoding: chunked'], 'gzip, chunked'],
    ['connection', ['Connection: a', 'Connection: b'], 'a,b'],
    ['upgrade', ['Upgrade: websocket', 'Upgrade: x/2'], 'websocket, x/2'],
    ['expect', ['Expect: 100-continue'], '100-continue'],
    ['expect', ['Expect: 100-continue', 'Expect: x'], '100-continue, x'],
    ['via', [], ''],
    ['via', ['Via: 1.0 a', 'via: 1.1 b'], '1.0 a, 1.1 b'],
    ['requestId', ['X-Request-ID: a'], 'a'],
    ['maxForwards', ['Max-Forwards: 3'], '3'],
    ['origin', ['Origin: null'], 'null'],
    ['preflightMethod', ['Access-Control-Request-Method: PUT'], 'PUT'],
    ['preflightHeaders', ['Access-Control-Request-Headers: x, y'], 'x, y'],
    ['count', ['Host: a', 'Connection: close', 'X: 1'], 3],
    ['size', ['Host: a', 'Connection: close', 'X: 1'], 'Host: a\r\nConnection: close\r\nX: 1\r\n'.length],
  ])('%s of %j', (field, lines, expected) => expect(read(lines)[field]).toEqual(expected));
});

describe('the forwarding fields of a request', () => {
  const lines = ['X-Forwarded-For: 192.0.2.1', 'x-forwarded-for: 192.0.2.2, 192.0.2.3', 'X-Forwarded-Proto: https'];

  it('are ignored from an untrusted peer', () => expect(read(lines).forwarded).toBeUndefined());

  it('are undefined from a trusted peer that sends none', () => expect(read(['X: 1'], true).forwarded).toBeUndefined());

  it('are read from a trusted peer, line by line', () =>
    expect(read(lines, true).forwarded).toEqual(
      new Map([
        ['x-forwarded-for', '192.0.2.1, 192.0.2.2, 192.0.2.3'],
        ['x-forwarded-proto', 'https'],
      ]),
    ));
});

const seen = { address: '192.0.2.7', scheme: 'http', port: 8080 } as const;
const peer = { ...seen, forwardingFields: forwardingFieldsOf(seen) };
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
const defaults = {
  method: 'GET',
  path: '/drinks?x',
  host: 'api.test',
  requestedHost: 'api.test',
  id: 'id-1',
  traceparent,
  tracestate: undefined,
  viaVersion: '1.1',
  peer,
  removedPrefix: '/v1',
  pseudonym: 'gw',
  upgrade: '',
};

/** The lines of a head, without the blank one; `raw`: names and values of the client in turn. */
function head(raw: readonly string[] = [], parts: Partial<RequestHeadParts> = {}, trusted = false): string[] {
  const text = requestHead({ ...defaults, fields: readRequestFields(raw, trusted), ...parts });
  expect(text.endsWith('\r\n\r\n')).toBe(true);
  return text.slice(0, -4).split('\r\n');
}

/** The values of one field of a head. */
function values(lines: readonly string[], name: string): string[] {
  const start = `${name}: `;
  return lines.filter((line) => line.startsWith(start)).map((line) => line.slice(start.length));
}

it('has the fields of the client between those of the gateway', () =>
  expect(head(['Host', 'api.test', 'Accept', '*/*', 'Via', '1.0 a', 'X', '1'])).toEqual([
    'GET /drinks?x HTTP/1.1',
    'Host: api.test',
    'Accept: */*',
    'X: 1',
    'X-Forwarded-For: 192.0.2.7',
    'X-Forwarded-Proto: http',
    'X-Forwarded-Port: 8080',
    'X-Forwarded-Host: api.test',
    'X-Forwarded-Prefix: /v1',
    'X-Request-Id: id-1',
    `traceparent: ${traceparent}`,
    'Via: 1.0 a, 1.1 gw',
  ]));

it.each([
  ['the method unchanged', { method: 'PROPFIND' }, 'PROPFIND /drinks?x HTTP/1.1'],
  ['the path byte for byte', { path: '/a%2Fb//c?%zz' }, 'GET /a%2Fb//c?%zz HTTP/1.1'],
  ['HTTP/1.1 for every version of the client', { viaVersion: '1.0' }, 'GET /drinks?x HTTP/1.1'],
])('begins with %s', (_name, parts, line) => expect(head([], parts)[0]).toBe(line));

it.each([
  ['none', [], [], []],
  ['a length', ['Content-Length', '5'], ['5'], []],
  ['a length of 0', ['Content-Length', '0'], ['0'], []],
  ['chunks', ['Transfer-Encoding', 'chunked'], [], ['chunked']],
])('frames the body like the client: %s', (_name, raw, length, coding) => {
  const lines = head(raw);
  expect(values(lines, 'Content-Length')).toEqual(length);
  expect(values(lines, 'Transfer-Encoding')).toEqual(coding);
});

it.each([
  ['1.1', [], ['1.1 gw']],
  ['1.0', [], ['1.0 gw']],
  ['1.1', ['Via', '1.0 a', 'Via', '1.1 b (c)'], ['1.0 a, 1.1 b (c), 1.1 gw']],
])('names HTTP/%s of the client in Via', (viaVersion, raw, expected) =>
  expect(values(head(raw, { viaVersion }), 'Via')).toEqual(expected),
);

describe('the forwarding fields', () => {
  const lists = [
    ...['X-Forwarded-For', '198.51.100.1', 'X-Forwarded-For', '198.51.100.2'],
    ...['X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'shop.test', 'X-Forwarded-Port', '443'],
    ...['X-Forwarded-Prefix', '/outer', 'Forwarded', 'for=198.51.100.1'],
  ];
  const names = ['For', 'Proto', 'Host', 'Port', 'Prefix'].map((name) => `X-Forwarded-${name}`);
  const said = (lines: readonly string[]): string[][] => [...names, 'Forwarded'].map((name) => values(lines, name));
  const ours = [['192.0.2.7'], ['http'], ['api.test'], ['8080'], ['/v1'], []];

  it.each([
    ['describe the connection if the client sends none', [], false, ours],
    ['describe the connection if an untrusted peer sends others', lists, false, ours],
    ['describe the connection if a trusted peer sends none', [], true, ours],
    [
      'are those of a trusted peer, followed by the connection',
      lists,
      true,
      [
        ['198.51.100.1, 198.51.100.2, 192.0.2.7'],
        ['https, http'],
        ['shop.test, api.test'],
        ['443, 8080'],
        ['/outer, /v1'],
        ['for=198.51.100.1'],
      ],
    ],
    [
      'are completed if a trusted peer sends only one',
      ['X-Forwarded-For', '198.51.100.1'],
      true,
      [['198.51.100.1, 192.0.2.7'], ['http'], ['api.test'], ['8080'], ['/v1'], []],
    ],
    [
      'do not grow by an empty list',
      ['X-Forwarded-For', ''],
      true,
      [['192.0.2.7'], ['http'], ['api.test'], ['8080'], ['/v1'], []],
    ],
  ])('%s', (_name, raw, trusted, expected) => expect(said(head(raw, {}, trusted))).toEqual(expected));

  it.each([false, true])('have no prefix if none was removed, trusted: %s', (trusted) => {
    const raw = ['X-Forwarded-For', '198.51.100.1'];
    expect(values(head(raw, { removedPrefix: '' }, trusted), 'X-Forwarded-Prefix')).toEqual([]);
  });

  it.each([false, true])('have no host if the request has none, trusted: %s', (trusted) => {
    const lines = head(['X-Forwarded-For', '198.51.100.1'], { host: 'backend:3001', requestedHost: '' }, trusted);
    expect(values(lines, 'X-Forwarded-Host')).toEqual([]);
    expect(values(lines, 'Host')).toEqual(['backend:3001']);
  });

  it('have an IPv6 address without brackets, and the scheme of the listener', () => {
    const other = { address: '2001:db8::1', scheme: 'https', port: 443 } as const;
    const lines = head([], { peer: { ...other, forwardingFields: forwardingFieldsOf(other) } });
    expect(said(lines).slice(0, 2)).toEqual([['2001:db8::1'], ['https']]);
  });
});

// RFC 9110 §7.6.2.
it.each([
  ['OPTIONS', '1', ['0']],
  ['OPTIONS', '10', ['9']],
  ['OPTIONS', '99999999999', ['1000000']],
  ['OPTIONS', 'x', ['x']],
  ['GET', '1', ['1']],
  ['GET', 'x', ['x']],
])('forwards %s with Max-Forwards: %s', (method, given, expected) =>
  expect(values(head(['Max-Forwards', given], { method }), 'Max-Forwards')).toEqual(expected),
);

it.each([
  ['websocket', ['Upgrade'], ['websocket']],
  ['', [], []],
])('requests the upgrade to "%s" only', (upgrade, connection, protocols) => {
  const lines = head(['Connection', 'Upgrade', 'Upgrade', 'websocket'], { upgrade });
  expect(values(lines, 'Connection')).toEqual(connection);
  expect(values(lines, 'Upgrade')).toEqual(protocols);
});
