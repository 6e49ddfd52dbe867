import { describe, expect, it } from 'vitest';
import {
  basePath,
  hostPort,
  isLoopback,
  network,
  pageUrl,
  probePath,
  targetUrl,
} from '../../../gateway/config/schema/network.ts';
import { read } from './read.ts';

describe('refuses', () => {
  it.each([
    ['hostPort', hostPort, 8080, 'has no host'],
    ['hostPort', hostPort, '8080', 'has no host'],
    ['hostPort', hostPort, '127.0.0.1', 'is not host:port'],
    ['hostPort', hostPort, '127.0.0.1:65536', 'has a port above 65535'],
    ['hostPort', hostPort, '127.0.0.256:80', 'has no IPv4 address before its port'],
    ['hostPort', hostPort, '[::g]:80', 'has no IPv6 address in its brackets'],
    ['hostPort', hostPort, '::1:80', 'has no port, or no brackets'],
    ['hostPort', hostPort, 'http://a:80', 'is not host:port'],
    ['network', network, '10.0.0.0/33', 'has a prefix length other than 0 to 32'],
    ['network', network, '::1/129', 'has a prefix length other than 0 to 128'],
    ['network', network, '10.1', 'is not a network'],
    ['network', network, 'constructor', 'is not a network'],
    ['targetUrl', targetUrl, 'https://a/b', 'has a path'],
    ['targetUrl', targetUrl, 'https://a/?', 'has a query or a fragment'],
    ['targetUrl', targetUrl, 'https://@a', 'has a user or a password'],
    ['targetUrl', targetUrl, 'unix:/run/a.sock', 'is not an http:// or https:// URL'],
    ['targetUrl', targetUrl, ' http://a', 'is not an http:// or https:// URL'],
    ['targetUrl', targetUrl, 'http://a ', 'has a blank or a backslash'],
    ['pageUrl', pageUrl, 'javascript:alert(1)', 'is not an http:// or https:// URL'],
    ['pageUrl', pageUrl, 'https://a/x\r\nSet-Cookie: a', 'has a blank or a backslash'],
    ['basePath', basePath, '/a/../b', 'has a dot segment'],
    ['basePath', basePath, '/a//b', 'has an empty segment'],
    ['basePath', basePath, '/a b', 'has a character that is not allowed in a path'],
    ['probePath', probePath, 'healthz', 'does not begin with /'],
    ['probePath', probePath, '/a b', 'has a character that is not allowed in a path'],
  ])('$0: $2 $3', (_name, schema, input, predicate) => {
    expect(read(schema, input)).toBe(`refused: ${predicate}`);
  });
});

describe('reads', () => {
  it.each([
    ['hostPort', hostPort, '127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
    ['hostPort', hostPort, '[::1]:0', { host: '::1', port: 0 }],
    ['hostPort', hostPort, ':8080', { host: '', port: 8080 }],
    ['hostPort', hostPort, 'localhost:80', { host: 'localhost', port: 80 }],
    ['network', network, 'loopback', ['127.0.0.0/8', '::1/128']],
    ['network', network, 'private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
    ['network', network, '10.1.2.3/8', ['10.0.0.0/8']],
    ['network', network, '192.0.2.7', ['192.0.2.7/32']],
    ['network', network, '2001:db8::1', ['2001:db8::1/128']],
    ['targetUrl', targetUrl, 'HTTP://LocalHost:80/', 'http://localhost'],
    ['targetUrl', targetUrl, 'http://[::1]:3001', 'http://[::1]:3001'],
    ['targetUrl', targetUrl, 'https://a:443', 'https://a'],
    ['pageUrl', pageUrl, 'https://a/<é>?x', 'https://a/%3C%C3%A9%3E?x'],
    ['basePath', basePath, '/', ''],
    ['basePath', basePath, '/api/', '/api'],
    ['probePath', probePath, 'off', undefined],
    ['probePath', probePath, '/healthz?deep=1', '/healthz?deep=1'],
  ])('$0: $2', (_name, schema, input, value) => {
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
