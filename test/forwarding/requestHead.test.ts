import { describe, expect, it } from 'vitest';
import { readRequestFields } from '../../gateway/forwarding/requestFields.ts';
import { type RequestHeadParts, requestHead } from '../../gateway/forwarding/requestHead.ts';

const peer = { address: '192.0.2.7', scheme: 'http', port: 8080 } as const;
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
const defaults = {
  method: 'GET',
  path: '/drinks?x',
  host: 'api.test',
  requestedHost: 'api.test',
  id: 'id-1',
  traceparent,
  tracestate: undefined,
  httpVersion: '1.1',
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
    'X-Forwarded-Host: api.test',
    'X-Forwarded-Port: 8080',
    'X-Forwarded-Prefix: /v1',
    'X-Request-Id: id-1',
    `traceparent: ${traceparent}`,
    'Via: 1.0 a, 1.1 gw',
  ]));

it.each([
  ['the method unchanged', { method: 'PROPFIND' }, 'PROPFIND /drinks?x HTTP/1.1'],
  ['the path byte for byte', { path: '/a%2Fb//c?%zz' }, 'GET /a%2Fb//c?%zz HTTP/1.1'],
  ['HTTP/1.1 for every version of the client', { httpVersion: '1.0' }, 'GET /drinks?x HTTP/1.1'],
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
])('names HTTP/%s of the client in Via', (httpVersion, raw, expected) =>
  expect(values(head(raw, { httpVersion }), 'Via')).toEqual(expected),
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
    const lines = head([], { peer: { address: '2001:db8::1', scheme: 'https', port: 443 } });
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
