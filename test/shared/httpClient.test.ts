import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type LookupFunction, type Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type HttpAnswer,
  HttpClient,
  type HttpClientSettings,
  HttpFailure,
  httpUses,
  isPublicAddress,
} from '../../gateway/shared/httpClient.ts';
import { eventually } from '../support/eventually.ts';
import { startForwardProxy } from '../support/forwardProxy.ts';
import { refusedUrl } from '../support/gateway.ts';
import { serveKeptAlive } from '../support/keptAliveServer.ts';

const deadlineMs = 60_000;

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A server that sends these bytes to every connection once it has a request. `hold`: it then leaves the connection open. */
async function serveBytes(bytes: string, { hold = false } = {}): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => (hold ? socket.write(bytes) : socket.end(bytes)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function clientWith(settings: Partial<HttpClientSettings> = {}): HttpClient {
  const client = new HttpClient({ ...httpUses.admin, headMs: deadlineMs, bodyMs: deadlineMs, ...settings });
  onTestFinished(() => client.close());
  return client;
}

/** The status and the body, or why there is no complete answer. */
async function outcomeOf(answer: Promise<HttpAnswer>): Promise<string> {
  try {
    const { status } = await answer;
    return `${status} ${await (await answer).text()}`;
  } catch (error) {
    if (error instanceof HttpFailure) return `${error.kind}: ${error.message}`;
    throw error;
  }
}

describe('a request', () => {
  it('gets status, fields and body, and follows no redirect', async () => {
    const { url, requested } = await serveKeptAlive((_req, res) =>
      res.writeHead(302, { location: '/b', 'x-a': ['1', '2'] }).end('moved'),
    );
    const answer = await clientWith().request(`${url}/a?b=c`, { deadlineMs });
    expect([
      answer.status,
      answer.isOk,
      answer.header('location'),
      answer.header('x-a'),
      answer.header('none'),
    ]).toEqual([302, false, '/b', '1, 2', undefined]);
    expect([await answer.text(), requested]).toEqual(['moved', ['GET /a?b=c']]);
  });

  it.each([
    ['without an answer', '', { hold: true }, 'timeout: no answer within 0.3 s'],
    ['with half a head', 'HTTP/1.1 200 OK\r\n', { hold: true }, 'timeout: no answer within 0.3 s'],
    [
      'with half a body',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc',
      { hold: true },
      'timeout: the answer pauses for more than 0.3 s',
    ],
    [
      'that is closed within the body',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc',
      {},
      'failed: the connection was closed before the answer was complete',
    ],
    ['that is closed at once', '', {}, 'failed: the connection was closed before the answer was complete'],
    ['that is not HTTP', 'SSH-2.0-OpenSSH_9\r\n\r\n', {}, 'failed: the answer is not valid HTTP'],
    [
      'with a head that is too large',
      `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`,
      { hold: true },
      'failed: the head of the answer is too large',
    ],
  ])('on a connection %s fails in plain words', async (_what, bytes, options, expected) => {
    const client = clientWith('hold' in options ? { headMs: 300, bodyMs: 300 } : {});
    expect(await outcomeOf(client.request(await serveBytes(bytes, options), { deadlineMs }))).toBe(expected);
  });

  it('has a deadline for the whole answer, even if its body never pauses', async () => {
    const { url } = await serveKeptAlive((_req, res) => {
      const timer = setInterval(() => res.write('x'), 20);
      res.on('close', () => clearInterval(timer));
    });
    expect(await outcomeOf(clientWith().request(url, { deadlineMs: 300 }))).toBe('timeout: no answer within 0.3 s');
  });

  it('has a limit for the connection', async () => {
    // Never answers, like a name server that is down.
    const lookup: LookupFunction = () => {};
    const client = clientWith({ connectMs: 300, lookup });
    expect(await outcomeOf(client.request('http://slow.example/', { deadlineMs }))).toBe(
      'failed: no connection within 0.3 s',
    );
  });

  it('fails with the codes of Node, which operators know', async () => {
    expect(await outcomeOf(clientWith().request(await refusedUrl(), { deadlineMs }))).toBe('failed: ECONNREFUSED');
  });

  it('is not sent with a user or a password', async () => {
    const { port, requested } = await serveKeptAlive();
    const url = `http://barista:s3cret@127.0.0.1:${port}/`;
    expect(await outcomeOf(clientWith().request(url, { deadlineMs }))).toBe('failed: the URL has a user or a password');
    expect(requested).toEqual([]);
  });
});

describe('a closed client', () => {
  it('has closed its connections, and sends nothing any more', async () => {
    const { url, sockets, requested } = await serveKeptAlive();
    const client = clientWith();
    expect(await outcomeOf(client.request(url, { deadlineMs }))).toBe('200 hello');
    expect(sockets.size).toBe(1);
    await client.close();
    await eventually(() => expect(sockets.size).toBe(0));
    expect(await outcomeOf(client.request(url, { deadlineMs }))).toBe('failed: stopped');
    expect(requested).toHaveLength(1);
  });

  it('ends the requests that wait for an answer', async () => {
    const { url, requested, sockets } = await serveKeptAlive(() => {});
    const client = clientWith();
    const outcome = outcomeOf(client.request(url, { deadlineMs }));
    await eventually(() => expect(requested).toHaveLength(1));
    await client.close();
    expect(await outcome).toBe('failed: stopped');
    await eventually(() => expect(sockets.size).toBe(0));
  });

  it('closes the connection of a body that has no end', async () => {
    const { url, sockets } = await serveKeptAlive((_req, res) => {
      const timer = setInterval(() => res.write('x'.repeat(4096)), 5);
      res.on('close', () => clearInterval(timer));
    });
    const answer = await clientWith().request(url, { deadlineMs });
    await answer.discard();
    await eventually(() => expect(sockets.size).toBe(0));
  });
});

describe('only public networks', () => {
  /** Resolves every name to these addresses, one list per look-up. */
  function resolvingTo(...lists: readonly string[][]): { readonly lookup: LookupFunction; readonly lookups: string[] } {
    const lookups: string[] = [];
    const lookup: LookupFunction = (hostname, options, callback) => {
      const list = lists[Math.min(lookups.length, lists.length - 1)] ?? [];
      lookups.push(hostname);
      const found = list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      queueMicrotask(() => {
        if (options.all) callback(null, found);
        else callback(null, found[0]?.address ?? '', found[0]?.family ?? 4);
      });
    };
    return { lookup, lookups };
  }

  it.each([
    '127.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '10.0.0.1',
    '169.254.169.254',
    '0x7f.1',
    '[fd00::1]',
    '0.0.0.0',
  ])('refuses the address %s in a URL', async (host) => {
    const { port, requested } = await serveKeptAlive();
    const client = clientWith({ networks: 'public' });
    expect(await outcomeOf(client.request(`http://${host}:${port}/`, { deadlineMs }))).toMatch(
      /^refused: the address [\da-f.:]+ is not public$/,
    );
    expect(requested).toEqual([]);
  });

  it('refuses a name that the system resolves to a loopback address', async () => {
    const { port, sockets } = await serveKeptAlive();
    const url = `http://localhost:${port}/`;
    expect(await outcomeOf(clientWith({ networks: 'public' }).request(url, { deadlineMs }))).toMatch(
      /^refused: the address (?:127\.0\.0\.1|::1) is not public$/,
    );
    expect(sockets.size).toBe(0);
    expect(await outcomeOf(clientWith({ networks: 'any' }).request(url, { deadlineMs }))).toBe('200 hello');
  });

  it('is not deceived by a name that resolves to a public address first and then to a loopback address', async () => {
    const { port, requested } = await serveKeptAlive();
    // No provider has a part of 2d00::/8, so no packet arrives anywhere.
    const { lookup, lookups } = resolvingTo(['2d00::1'], ['127.0.0.1']);
    const client = clientWith({ networks: 'public', lookup, connectMs: 300 });
    const url = `http://rebinding.example:${port}/`;
    expect(await outcomeOf(client.request(url, { deadlineMs }))).toMatch(/^failed: /);
    expect(await outcomeOf(client.request(url, { deadlineMs }))).toBe('refused: the address 127.0.0.1 is not public');
    expect([lookups.length, requested]).toEqual([2, []]);
  });

  it('connects only to the public ones of several addresses', async () => {
    const { port, requested } = await serveKeptAlive();
    const { lookup } = resolvingTo(['127.0.0.1', '2d00::1', '::1']);
    const client = clientWith({ networks: 'public', lookup, connectMs: 300 });
    expect(await outcomeOf(client.request(`http://mixed.example:${port}/`, { deadlineMs }))).toMatch(/^failed: /);
    expect(requested).toEqual([]);
  });

  it.each([
    ['8.8.8.8', true],
    ['2001:4860:4860::8888', true],
    ['64:ff9b::808:808', true],
    ['64:ff9b::7f00:1', false],
    ['64:ff9b:1::808:808', false],
    ['::ffff:8.8.8.8', true],
    ['::ffff:10.1.2.3', false],
    ['::127.0.0.1', false],
    ['2002:7f00:1::', false],
    ['100.64.0.1', false],
    ['172.16.0.1', false],
    ['192.168.1.1', false],
    ['169.254.1.1', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['fe80::1%eth0', false],
    ['fe80::1', false],
    ['ff02::1', false],
    ['::', false],
    ['not an address', false],
  ])('%s is public: %s', (address, expected) => {
    expect(isPublicAddress(address)).toBe(expected);
  });
});

describe('a client that uses the proxy of the environment', () => {
  const proxied = { ...httpUses.webhooks, networks: 'any' } as const;

  it('sends http: requests with the whole URL, with the password of the proxy, except to the hosts of NO_PROXY', async () => {
    const { port, requested } = await serveKeptAlive();
    const proxy = await startForwardProxy({ 'hook.example': port });
    vi.stubEnv('HTTP_PROXY', proxy.url.replace('//', '//ada:secret@'));
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    const client = clientWith(proxied);
    expect(await outcomeOf(client.request('http://hook.example/a', { deadlineMs }))).toBe('200 hello');
    expect(await outcomeOf(client.request(`http://127.0.0.1:${port}/b`, { deadlineMs }))).toBe('200 hello');
    expect(proxy.requested).toEqual(['GET http://hook.example/a']);
    expect(proxy.authorizations).toEqual([`Basic ${Buffer.from('ada:secret').toString('base64')}`]);
    expect(requested).toEqual(['GET /a', 'GET /b']);
  });

  it.each(['http://hook.example/', 'https://hook.example/'])(
    'says which status the proxy refuses %s with',
    async (url) => {
      const proxy = await startForwardProxy({}, { refusing: 407 });
      vi.stubEnv('HTTP_PROXY', proxy.url);
      expect(await outcomeOf(clientWith(proxied).request(url, { deadlineMs }))).toBe('failed: the proxy answers 407');
    },
  );

  it('says that the proxy may be the server that refuses connections', async () => {
    vi.stubEnv('HTTPS_PROXY', await refusedUrl());
    expect(await outcomeOf(clientWith(proxied).request('https://hook.example/', { deadlineMs }))).toBe(
      'failed: ECONNREFUSED (HTTPS_PROXY is set)',
    );
  });

  it('does not wait for a proxy that does not answer CONNECT', async () => {
    const proxy = await startForwardProxy({}, { silent: true });
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    const url = 'https://hook.example/';
    expect(await outcomeOf(clientWith(proxied).request(url, { deadlineMs: 300 }))).toBe(
      'timeout: no answer within 0.3 s',
    );
    expect(await outcomeOf(clientWith({ ...proxied, headMs: 300 }).request(url, { deadlineMs }))).toMatch(/^timeout: /);
  });

  it.each(['proxy.example:3128', 'socks5://proxy.example', '::'])(
    'refuses the variable HTTPS_PROXY=%s',
    async (value) => {
      vi.stubEnv('HTTPS_PROXY', value);
      expect(await outcomeOf(clientWith(proxied).request('https://hook.example/', { deadlineMs }))).toBe(
        'failed: the variable HTTPS_PROXY is not a URL such as http://proxy.example:3128',
      );
    },
  );

  it('reaches a proxy at a private address even if only public networks are allowed, but refuses private addresses in the URL', async () => {
    const { port } = await serveKeptAlive();
    const proxy = await startForwardProxy({ 'hook.example': port, '127.0.0.1': port });
    vi.stubEnv('HTTP_PROXY', proxy.url);
    const client = clientWith({ ...proxied, networks: 'public' });
    expect(await outcomeOf(client.request('http://hook.example/', { deadlineMs }))).toBe('200 hello');
    expect(await outcomeOf(client.request('http://127.0.0.1/', { deadlineMs }))).toMatch(/^refused: /);
    expect(proxy.requested).toHaveLength(1);
  });
});
