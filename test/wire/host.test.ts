import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { get, message } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

// RFC 9112 §3.2: exactly one, and one that RFC 3986 §3.2.2 allows; else 400.
const refused: [name: string, lines: string[]][] = [
  ['no Host', []],
  ['two that differ', ['Host: api.test', 'Host: evil.test']],
  ['two that agree', ['Host: api.test', 'Host: api.test']],
  ['two, the second in another case', ['Host: api.test', 'HOST: evil.test']],
  ['two, the second empty', ['Host: api.test', 'Host:']],
  ['a folded Host', ['Host: api.test', ' evil.test']],
];

const bad: string[] = [
  ...[
    '',
    'a b',
    'a\tb',
    'a/b',
    'api.test/',
    'user@api.test',
    'u:p@api.test',
    '@api.test',
    'api.test:x',
    'api.test:80:80',
  ],
  ...[
    'api.test:-1',
    'api.test:+80',
    'api.test:8 0',
    'http://api.test',
    '//api.test',
    '::1',
    '[::1',
    '::1]',
    '[]',
    '[::g]',
  ],
  ...[
    '[::1]x',
    '[::1]:x',
    '[1.2.3.4]',
    '[:::1]',
    'a\\b',
    'a"b',
    'a#b',
    'a?b',
    'a<b',
    'a>b',
    'a^b',
    'a`b',
    'a{b}',
    'a|b',
  ],
  ...['a%zz', 'a%', 'a%4', 'api.t\xc3\xa9st', 'api.test\x7f', ':80', 'a[b]', '[::1%25'],
];

const good: string[] = [
  ...[
    'api.test',
    'API.Test',
    'api.test:8080',
    'api.test:80',
    'localhost',
    '127.0.0.1',
    '127.0.0.1:1',
    '[::1]',
    '[::1]:8443',
  ],
  ...['[2001:db8::1]', '[::ffff:127.0.0.1]', 'a_b.test', 'xn--bcher-kva.test', 'a', '1.2.3', 'api.test.', 'a-b.c-d'],
];

async function expectRefusal(...lines: string[]): Promise<void> {
  const { backend, client } = await startWire();
  client.send(message('GET /v1/x HTTP/1.1', ...lines) + get('/v1/smuggled'));
  expectProblem(await client.response(), 400);
  expect((await client.closed()).leftover).toBe('');
  expect(backend.bytes).toBe('');
}

describe('Host is refused with 400', () => {
  it.each(refused)('%s', (_name, lines) => expectRefusal(...lines));
  it.each(bad)('%j', (value) => expectRefusal(`Host: ${value}`));
  it.each(['', 'a b', 'user@api.test'])('%j, in HTTP/1.0 too', async (value) => {
    const { backend, client } = await startWire();
    client.send(message('GET /v1/x HTTP/1.0', `Host: ${value}`));
    const { status } = await client.response();
    // A client of HTTP/1.0 may send an empty Host.
    expect(value === '' ? [200, 400] : [400]).toContain(status);
    if (status === 400) expect(backend.bytes).toBe('');
  });
});

describe('Host is preserved', () => {
  it.each(good)('%s', async (value) => {
    const { backend, client } = await startWire();
    client.send(message('GET /v1/x HTTP/1.1', `hOsT:${value}`));
    expect((await client.response()).status).toBe(200);
    expect(valuesOf(backend.request, 'host')).toEqual([value]);
    expect(valuesOf(backend.request, 'x-forwarded-host')).toEqual([value]);
  });

  it('without the white space around it', async () => {
    const { backend, client } = await startWire();
    client.send(message('GET /v1/x HTTP/1.1', 'Host: \t api.test \t '));
    expect((await client.response()).status).toBe(200);
    expect(backend.request.lines.filter((line) => /^host:/i.test(line)).map((line) => line.slice(5).trim())).toEqual([
      'api.test',
    ]);
  });
});

// RFC 9110 §7.2: not required in HTTP/1.0, but required in the HTTP/1.1 that we send.
it('HTTP/1.0 needs no Host, and the backend gets one', async () => {
  const { backend, client } = await startWire();
  client.send(message('GET /v1/x HTTP/1.0'));
  expect((await client.response()).status).toBe(200);
  expect(backend.request.version).toBe('HTTP/1.1');
  expect(valuesOf(backend.request, 'host')).toHaveLength(1);
});
