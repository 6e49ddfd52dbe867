import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { ask, get, message } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

// RFC 9112 §3.2.2: the authority of the target replaces any Host. It never chooses the backend.
const accepted: [target: string, received: string, host: string][] = [
  ['http://other.test/v1/x', '/x', 'other.test'],
  ['https://other.test/v1/x', '/x', 'other.test'],
  ['HTTP://other.test/v1/x', '/x', 'other.test'],
  ['http://other.test:8080/v1/x?a=b', '/x?a=b', 'other.test:8080'],
  ['http://other.test/v1', '/', 'other.test'],
  ['http://other.test/v1?a', '/?a', 'other.test'],
  ['http://169.254.169.254/v1/latest/meta-data', '/latest/meta-data', '169.254.169.254'],
  ['http://127.0.0.1:1/v1/x', '/x', '127.0.0.1:1'],
  ['http://[::1]:8080/v1/x', '/x', '[::1]:8080'],
  ['http://api.test/v1/a%2fb//c', '/a%2fb//c', 'api.test'],
];

const refused: string[] = [
  ...[
    'http://user@other.test/v1/x',
    'http://u:p@other.test/v1/x',
    'http://@other.test/v1/x',
    'http://other.test@/v1/x',
  ],
  ...['ftp://other.test/v1/x', 'file:///v1/x', 'ws://other.test/v1/x', 'gopher://other.test/v1/x', 'data:,/v1/x'],
  ...[
    'javascript:alert(1)',
    'http:///v1/x',
    'http:/v1/x',
    'http:v1/x',
    'http:',
    'http://',
    'http://?x',
    'http://:80/v1/x',
  ],
  ...[
    'http://[::1/v1/x',
    'http://::1/v1/x',
    'http://[v1/x',
    'http://other.test:x/v1/x',
    'http://other.test:80:80/v1/x',
  ],
  ...[
    'http://other.test\\@evil.test/v1/x',
    'http:\\\\other.test\\v1\\x',
    'http://oth%00er/v1/x',
    'http://a,b/v1/x?\x80',
  ],
  ...[
    'http://other.test//v1/x#f',
    'http://other.test/v1/../x',
    'http://other.test/v1/%2e%2e/x',
    'http://other.test/v1\\x',
  ],
  ...[
    '@evil.test/v1/x',
    'evil.test:443',
    'other.test/v1/x',
    ':80/v1/x',
    'v1/x',
    '?x',
    '*',
    '*/v1/x',
    '.',
    '%2fv1/x',
    '://x',
  ],
];

describe('an absolute target', () => {
  it.each(accepted)('%s reaches our own backend with its authority as Host', async (target, received, host) => {
    const { backend, port } = await startWire();
    expect((await ask(port, get(target))).status).toBe(200);
    expect(backend.request.target).toBe(received);
    expect(valuesOf(backend.request, 'host')).toEqual([host]);
    expect(valuesOf(backend.request, 'x-forwarded-host')).toEqual([host]);
  });

  it('needs no Host in HTTP/1.0', async () => {
    const { backend, port } = await startWire();
    expect((await ask(port, message('GET http://other.test/v1/x HTTP/1.0'))).status).toBe(200);
    expect(valuesOf(backend.request, 'host')).toEqual(['other.test']);
  });

  // RFC 9112 §3.2: a missing Host is an error in HTTP/1.1, whatever the form of the target.
  it.each([[[]], [['Host: a.test', 'Host: b.test']], [['Host: a b']]])('with the fields %j is 400', async (fields) => {
    const { backend, port } = await startWire();
    expectProblem(await ask(port, message('GET http://other.test/v1/x HTTP/1.1', ...fields)), 400);
    expect(backend.bytes).toBe('');
  });

  it('to an unknown version is 404', async () => {
    const { backend, port } = await startWire();
    expectProblem(await ask(port, get('http://other.test/v9/x')), 404);
    expect(backend.bytes).toBe('');
  });
});

describe('an invalid request target', () => {
  it.each(refused)('%j is 400 and is not forwarded', async (target) => {
    const { backend, port } = await startWire();
    expectProblem(await ask(port, get(target)), 400);
    expect(backend.bytes).toBe('');
  });
});
