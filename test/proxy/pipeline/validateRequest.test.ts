import { describe, expect, it } from 'vitest';
import { startBackend } from '../../support/backend.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { expectProblem } from '../../support/problem.ts';
import { ask, message } from '../../support/rawClient.ts';
import { singleValueOf } from '../../support/response.ts';

/** OPTIONS for `target` with a valid Host. */
function options(target: string): string {
  return message(`OPTIONS ${target} HTTP/1.1`, 'Host: api.test');
}

// RFC 9112 §3.2.4: without path and query it is about the server as a whole.
describe('OPTIONS for a URL without a path', () => {
  it.each(['http://api.test', 'https://api.test:8443', 'HTTP://[2001:db8::1]:80'])(
    'is answered by the gateway: %s',
    async (target) => {
      const backend = await startBackend();
      const gateway = await startTestGateway({ '/v1': backend.url });
      const response = await ask(gateway.port, options(target));
      expect(response.status).toBe(204);
      // The pages of the index have a shorter list.
      expect(singleValueOf(response, 'allow')).toBe('GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS');
      expect(backend.bytes).toBe('');
    },
  );

  it.each([
    ['a port above 65535', 'http://api.test:65536'],
    ['a port that is not a number', 'http://api.test:http'],
    ['an open bracket', 'http://[::1'],
    ['an invalid address', 'http://[::g]'],
    ['only a port', 'http://:80'],
    ['userinfo', 'http://user@api.test'],
    ['a backslash', 'http://api.test\\'],
    ['a number sign', 'http://api.test#x'],
    ['an escaped control character', 'http://a%00b'],
    ['an incomplete escape', 'http://a%2'],
    ['no authority', 'http://'],
    ['another scheme', 'ftp://api.test'],
  ])('is 400 with %s', async (_name, target) => {
    const backend = await startBackend();
    const gateway = await startTestGateway({ '/v1': backend.url });
    expectProblem(await ask(gateway.port, options(target)), 400);
    expect(backend.bytes).toBe('');
  });

  it('is 400 with a detail that names the invalid part', async () => {
    const gateway = await startTestGateway({ '/v1': (await startBackend()).url });
    const problem = expectProblem(await ask(gateway.port, options('http://api.test:65536')), 400);
    expect(problem['detail']).toBe('The authority of the request target is not valid.');
  });
});

it('OPTIONS for a URL with a path goes to its backend', async () => {
  const backend = await startBackend();
  const gateway = await startTestGateway({ '/v1': backend.url });
  expect((await ask(gateway.port, options('http://api.test/v1/x'))).status).toBe(200);
  expect(backend.request.target).toBe('/x');
});
