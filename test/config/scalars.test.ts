import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { Expanded } from '../../gateway/config/expand.ts';
import {
  basePath,
  hostPort,
  isLoopback,
  network,
  pageUrl,
  probePath,
  targetUrl,
} from '../../gateway/config/schema/network.ts';
import { instant, period, rate, share, size, timer, timerOrOff } from '../../gateway/config/schema/units.ts';
import { flag, identifier, integer, text, token, workers } from '../../gateway/config/schema/words.ts';

/** What is refused is told by its predicate. */
function read(schema: z.ZodType, input: unknown): unknown {
  const result = schema.safeParse(input);
  return result.success ? result.data : `refused: ${result.error.issues[0]?.message}`;
}

describe('refuses', () => {
  it.each([
    [timer, 3, 'has no unit'],
    [timer, '3', 'has no unit'],
    [timer, 'off', 'is not a duration'],
    [timer, '3 s', 'is not a duration'],
    [timer, '3S', 'is not a duration'],
    [timer, '1e3s', 'is not a duration'],
    [timer, 's', 'is not a duration'],
    [timer, '', 'is not a duration'],
    [timer, '0.4ms', 'is too short'],
    [timer, '25d', 'is too long'],
    [timer, null, 'is empty'],
    [timer, ['3s'], 'is a list'],
    [timer, undefined, 'is missing'],
    [timerOrOff, false, 'is a boolean'],
    [timerOrOff, '0s', 'is too short'],
    [period, '99999999d', 'is too long'],
    [size, '10 mib', 'is not a size'],
    [size, '0', 'is less than one byte'],
    [size, '0.3B', 'is not a whole number of bytes'],
    [size, '9999999999GiB', 'is not a whole number of bytes'],
    [share, 20, 'has no percent sign'],
    [share, '101%', 'is more than 100%'],
    [share, '-1%', 'is not a percentage'],
    [rate, 3, 'has no unit'],
    [rate, '3/h', 'is not a rate'],
    [instant, '2026-02-29', 'is not a day of the calendar'],
    [instant, '2026-13-01', 'is not a day of the calendar'],
    [instant, '2026-06-31T00:00:00Z', 'is not a day of the calendar'],
    [instant, '2026-06-30T12:00:00', 'has no time zone'],
    [instant, '2026-06-30T24:00:00Z', 'is not a valid time'],
    [instant, '2026-06-30T12:60:00Z', 'is not a valid time'],
    [instant, '2026-06-30T12:00Z', 'is not a date'],
    [instant, '30.06.2026', 'is not a date'],
    [instant, 1782777600, 'is not a date'],
    [hostPort, 8080, 'has no host'],
    [hostPort, '8080', 'has no host'],
    [hostPort, '127.0.0.1', 'is not host:port'],
    [hostPort, '127.0.0.1:65536', 'has a port above 65535'],
    [hostPort, '127.0.0.256:80', 'has no IPv4 address before its port'],
    [hostPort, '[::g]:80', 'has no IPv6 address in its brackets'],
    [hostPort, '::1:80', 'has no port, or no brackets'],
    [hostPort, 'http://a:80', 'is not host:port'],
    [network, '10.0.0.0/33', 'has a prefix length other than 0 to 32'],
    [network, '::1/129', 'has a prefix length other than 0 to 128'],
    [network, '10.1', 'is not a network'],
    [network, 'constructor', 'is not a network'],
    [targetUrl, 'https://a/b', 'has a path'],
    [targetUrl, 'https://a/?', 'has a query or a fragment'],
    [targetUrl, 'https://@a', 'has a user or a password'],
    [targetUrl, 'unix:/run/a.sock', 'is not an http:// or https:// URL'],
    [targetUrl, ' http://a', 'is not an http:// or https:// URL'],
    [targetUrl, 'http://a ', 'has a blank or a backslash'],
    [pageUrl, 'javascript:alert(1)', 'is not an http:// or https:// URL'],
    [pageUrl, 'https://a/x\r\nSet-Cookie: a', 'has a blank or a backslash'],
    [basePath, '/a/../b', 'has a dot segment'],
    [basePath, '/a//b', 'has an empty segment'],
    [basePath, '/a b', 'has a character that is not allowed in a path'],
    [probePath, 'healthz', 'does not begin with /'],
    [probePath, '/a b', 'has a character that is not allowed in a path'],
    [integer(1, 10), '3', 'is a text'],
    [integer(1, 10), 11, 'is more than 10'],
    [integer(1, 10), Number.NaN, 'is not a whole number'],
    [workers, 1.5, 'is not a number of processes'],
    [flag, 'yes', 'is a text'],
    [text('a name'), '  ', 'is empty'],
    [token, 'a b', 'has a blank or a character outside ASCII'],
    [token, 12345, 'is a number'],
    [identifier, 'header:', 'is not an identifier of clients'],
    [identifier, 'header:a\r\nb', 'is not an identifier of clients'],
  ])('%#: %s', (schema, input, predicate) => {
    expect(read(schema, input)).toBe(`refused: ${predicate}`);
  });
});

describe('reads', () => {
  it.each([
    [timer, '3s', 3000],
    [timer, '500ms', 500],
    [timer, '1.5s', 1500],
    [timer, '1m30s', 90_000],
    [timer, '24d', 2_073_600_000],
    [timerOrOff, 'off', 0],
    [period, '400d', 34_560_000_000],
    [size, '16KiB', 16_384],
    [size, '10MiB', 10_485_760],
    [size, '1.5 kB', 1500],
    [size, 1024, 1024],
    [share, '20%', 0.2],
    [share, '0.1%', 0.001],
    [rate, '3/s', 3],
    [rate, '90/m', 1.5],
    [instant, '2026-06-30', Date.UTC(2026, 5, 30)],
    [instant, '2028-02-29', Date.UTC(2028, 1, 29)],
    [instant, '2028-06-30T23:59:59Z', Date.UTC(2028, 5, 30, 23, 59, 59)],
    [instant, '2028-06-30T23:59:59.999+02:00', Date.UTC(2028, 5, 30, 21, 59, 59)],
    [hostPort, '127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
    [hostPort, '[::1]:0', { host: '::1', port: 0 }],
    [hostPort, ':8080', { host: '', port: 8080 }],
    [hostPort, 'localhost:80', { host: 'localhost', port: 80 }],
    [network, 'loopback', ['127.0.0.0/8', '::1/128']],
    [network, 'private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
    [network, '10.1.2.3/8', ['10.0.0.0/8']],
    [network, '192.0.2.7', ['192.0.2.7/32']],
    [network, '2001:db8::1', ['2001:db8::1/128']],
    [targetUrl, 'HTTP://LocalHost:80/', 'http://localhost'],
    [targetUrl, 'http://[::1]:3001', 'http://[::1]:3001'],
    [targetUrl, 'https://a:443', 'https://a'],
    [pageUrl, 'https://a/<é>?x', 'https://a/%3C%C3%A9%3E?x'],
    [basePath, '/', ''],
    [basePath, '/api/', '/api'],
    [probePath, 'off', undefined],
    [probePath, '/healthz?deep=1', '/healthz?deep=1'],
    [workers, 'auto', 'auto'],
    [identifier, 'header:X-Client-Id', { by: 'header', name: 'x-client-id' }],
    [identifier, 'jwt:sub', { by: 'jwt', claim: 'sub' }],
    [identifier, 'address', { by: 'address' }],
    [token, new Expanded('0123', 123), '0123'],
    [integer(1, 200), new Expanded('0123', 123), 123],
    [flag, new Expanded('true', true), true],
  ])('%#: %s', (schema, input, value) => {
    expect(read(schema, input)).toEqual(value);
  });
});

it.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['LOCALHOST', true],
  ['', false],
  ['0.0.0.0', false],
  ['::', false],
  ['localhost.example', false],
])('%s is loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});
