import { describe, expect, it } from 'vitest';
import type { ExchangeRecord } from '../../../gateway/usage/observability/exchangeRecord.ts';
import { type Answer, answer, type Backend, okAnswer, type Step, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { ask, chunked, connectTo, get, message, post, type RawClient } from '../../support/rawClient.ts';
import { startRecorded } from '../../usage/observability/recorded.ts';

const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';
const echo: Step[] = [
  { write: switching },
  { take: (socket) => void socket.on('data', (data) => socket.write(data)).on('end', () => socket.end()) },
];
const upgrade = get('/v1/chat', 'Connection: Upgrade', 'Upgrade: echo');

interface Ending {
  readonly backend?: Answer;
  readonly defaults?: object;
  readonly does: (client: RawClient, backend: Backend) => Promise<unknown>;
  readonly record: Partial<ExchangeRecord>;
}

const said = (bytes: string, method?: string) => (client: RawClient) => {
  client.send(bytes);
  return client.response(method);
};

const unserved = { target: undefined, upstreamMs: undefined, served: false, fault: undefined, retries: 0 };
const upstreamMs = expect.any(Number);

const cases: Record<string, Ending> = {
  'a whole answer': {
    does: said(get('/v1/drinks/7?sort=a')),
    record: {
      version: 'v1',
      stage: 'active',
      method: 'GET',
      path: '/v1/drinks/7',
      query: 'sort=a',
      resource: '/drinks/7',
      status: 200,
      served: true,
      upstreamMs,
      bytesIn: 0,
      bytesOut: 2,
      fault: undefined,
      problem: undefined,
    },
  },
  'an answer in chunks': {
    backend: 'HTTP/1.1 201 C\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n',
    does: said(post('/v1/x', 'hello')),
    record: { method: 'POST', status: 201, bytesIn: 5, bytesOut: 7 },
  },
  'a chunked request': {
    does: said(chunked('/v1/x', '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')),
    record: { status: 200, bytesIn: 5 },
  },
  'a HEAD': {
    backend: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n',
    does: said(message('HEAD /v1/x HTTP/1.1', 'Host: a'), 'HEAD'),
    record: { method: 'HEAD', status: 200, bytesOut: 0, fault: undefined },
  },
  'an error of the target': {
    backend: answer(500, 'oops'),
    does: said(get('/v1/x')),
    record: { status: 500, served: true, problem: undefined, fault: undefined, bytesOut: 4 },
  },
  'an unknown version': {
    does: said(get('/v9/x')),
    record: { ...unserved, version: '', stage: undefined, path: '/v9/x', status: 404, problem: 'UNKNOWN_VERSION' },
  },
  'a tombstone': {
    does: said(get('/v0/x')),
    record: { ...unserved, version: 'v0', stage: 'retired', status: 410, problem: 'VERSION_RETIRED' },
  },
  'a refused request target': {
    does: said(get('/v1/%zz/../x?q')),
    record: { ...unserved, path: '/v1/%zz/../x', query: 'q', status: 400, problem: 'BAD_REQUEST' },
  },
  'OPTIONS *': {
    does: said(message('OPTIONS * HTTP/1.1', 'Host: a')),
    record: { ...unserved, version: '', path: '*', status: 204, problem: undefined, bytesOut: 0 },
  },
  'a page of the gateway’s own': {
    does: async (client) => {
      const response = await said(get('/', 'Accept: application/json'))(client);
      expect(Number(response.body.length)).toBeGreaterThan(10);
    },
    record: { ...unserved, version: '', path: '/', status: 200, problem: undefined, bytesOut: expect.any(Number) },
  },
  'a target that breaks the protocol': {
    backend: 'hello\r\n\r\n',
    does: said(get('/v1/x')),
    record: { status: 502, problem: 'TARGET_MALFORMED', fault: 'target', served: false, cause: expect.any(String) },
  },
  'a target that breaks off': {
    backend: [{ write: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc' }, { reset: true }],
    does: async (client) => {
      client.send(get('/v1/x'));
      await client.abortedResponse();
    },
    record: { status: 200, problem: undefined, fault: 'target', served: true, bytesOut: 3 },
  },
  'a target that is silent': {
    backend: () => undefined,
    defaults: { timeouts: { first_byte: '50ms' } },
    does: said(get('/v1/x')),
    record: { status: 504, problem: 'TARGET_TIMED_OUT', fault: 'target', served: false, upstreamMs: undefined },
  },
  'a body over its limit': {
    defaults: { limits: { body: '4B' } },
    does: said(chunked('/v1/x', '9\r\nabcdefghi\r\n0\r\n\r\n')),
    record: { status: 413, problem: 'BODY_TOO_LARGE', fault: 'client' },
  },
  'a body that is malformed': {
    does: said(chunked('/v1/x', '3\r\nabc\r\nzz\r\n')),
    record: { status: 400, problem: 'BAD_REQUEST' },
  },
  'a client that leaves before the answer': {
    backend: () => undefined,
    does: async (client, backend) => {
      client.send(get('/v1/x'));
      await eventually(() => expect(backend.requests).toHaveLength(1));
      client.reset();
    },
    record: { status: 499, problem: undefined, fault: 'client', served: false, bytesOut: 0 },
  },
  'a client that leaves within the answer': {
    backend: [{ write: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc' }],
    does: async (client) => {
      client.send(get('/v1/x'));
      await eventually(() => expect(client.pending).toContain('abc'));
      client.reset();
    },
    record: { status: 200, fault: 'client', served: true, bytesOut: 3 },
  },
  'a stream of events that its reader leaves': {
    backend: [
      { write: 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n' },
    ],
    does: async (client) => {
      client.send(get('/v1/x'));
      await eventually(() => expect(client.pending).toContain('abc'));
      client.reset();
    },
    record: { status: 200, fault: undefined, cause: undefined, streamed: true, served: true, bytesOut: 3 },
  },
  'a stream of events that its target breaks off': {
    backend: [
      { write: 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n' },
      { reset: true },
    ],
    does: async (client) => {
      client.send(get('/v1/x'));
      await client.abortedResponse();
    },
    record: { status: 200, fault: 'target', streamed: true, served: true, bytesOut: 3 },
  },
  'a tunnel that its client closes': {
    backend: (request) => (request.raw.includes('Upgrade') ? echo : okAnswer),
    does: async (client) => {
      client.send(upgrade);
      await eventually(() => expect(client.pending).toContain('\r\n\r\n'));
      client.send('ping!');
      await eventually(() => expect(client.pending).toContain('ping!'));
      client.end();
      await client.closed();
    },
    record: { status: 101, served: true, bytesIn: 5, bytesOut: 5, fault: undefined, problem: undefined },
  },
  'an upgrade that the target declines': {
    backend: answer(426, 'no'),
    does: said(upgrade),
    record: { status: 426, served: true, bytesOut: 2, fault: undefined },
  },
};

describe('an exchange is recorded once, with its outcome', () => {
  it.each(Object.entries(cases))('%s', async (_name, { backend: script = okAnswer, defaults = {}, does, record }) => {
    const backend = await startBackend(script);
    const routes = { '/v1': backend.url, '/v0': { retired: true } };
    const gateway = await startRecorded(routes, { defaults });
    const client = await connectTo(gateway.port);
    await does(client, backend);
    await eventually(() => expect(gateway.records.length).toBeGreaterThan(0));
    client.socket.destroy();
    // A second record of the exchange would come before that of a later request.
    await ask(gateway.port, get('/later'));
    await eventually(() => expect(gateway.records.at(-1)).toMatchObject({ path: '/later' }));
    expect(gateway.records).toHaveLength(2);
    const expected = record.status === 101 || record.served ? { target: backend.url, ...record } : record;
    expect(gateway.records[0]).toMatchObject(expected);
    expect(gateway.records[0]).toMatchObject({
      id: expect.stringMatching(/^[\w-]+$/),
      address: '127.0.0.1',
      duration: expect.any(Number),
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      rawHeaders: expect.arrayContaining(['Host']),
    });
  });
});

it('counts a retry, and names the last target', async () => {
  const backend = await startBackend();
  const { port, records } = await startRecorded({ '/v1': { upstream: [await refusedUrl(), backend.url] } });
  await ask(port, get('/v1/a'));
  await ask(port, get('/v1/b'));
  await eventually(() => expect(records).toHaveLength(2));
  expect(records.map(({ retries }) => retries).sort()).toEqual([0, 1]);
  expect(records.map(({ target, status, fault }) => [target, status, fault])).toEqual([
    [backend.url, 200, undefined],
    [backend.url, 200, undefined],
  ]);
});

it('records each of several requests on one connection', async () => {
  const backend = await startBackend();
  const { port, records } = await startRecorded({ '/v1': backend.url });
  const client = await connectTo(port);
  client.send(get('/v1/1') + get('/v1/2') + get('/nothing'));
  for (let count = 0; count < 3; count += 1) await client.response();
  await eventually(() => expect(records.map(({ path }) => path)).toEqual(['/v1/1', '/v1/2', '/nothing']));
});

it('reports a tunnel when it opens, and records it when it closes', async () => {
  const backend = await startBackend(echo);
  const events: string[] = [];
  const { port } = await startRecorded(
    { '/v1': backend.url },
    {},
    {
      record: ({ status }) => events.push(`closed ${status}`),
      tunnelOpened: (version) => events.push(`open ${version}`),
    },
  );
  const client = await connectTo(port);
  client.send(upgrade);
  await eventually(() => expect(events).toEqual(['open v1']));
  client.reset();
  await eventually(() => expect(events).toEqual(['open v1', 'closed 101']));
});

it('records a client that leaves while its request is queued', async () => {
  const backend = await startBackend(() => undefined);
  const { port, records, requestsByVersion } = await startRecorded(
    { '/v1': backend.url },
    { defaults: { limits: { in_flight: 1, queue: '5s' } } },
  );
  (await connectTo(port)).send(get('/v1/first'));
  await eventually(() => expect(backend.requests).toHaveLength(1));
  const waiting = await connectTo(port);
  waiting.send(get('/v1/second'));
  await eventually(() => expect(requestsByVersion.get('v1')?.queue.length).toBe(1));
  waiting.reset();
  await eventually(() => expect(records).toHaveLength(1));
  expect(records[0]).toMatchObject({ path: '/v1/second', status: 499, fault: 'client', target: undefined });
});

it.each([
  ['nonsense\r\n\r\n', 400, 'BAD_REQUEST'],
  [message('BREW /v1/x HTTP/1.1', 'Host: a'), 501, 'METHOD_NOT_IMPLEMENTED'],
  [message('GET /v1/x HTTP/1.1', 'Host: a', `X: ${'x'.repeat(70_000)}`), 431, 'HEAD_TOO_LARGE'],
])('records a request that cannot be parsed: %j', async (bytes, status, problem) => {
  const backend = await startBackend();
  const { port, records } = await startRecorded({ '/v1': backend.url });
  await ask(port, bytes);
  await eventually(() => expect(records).toHaveLength(1));
  expect(records[0]).toMatchObject({ status, problem, version: '', path: '', fault: 'client', address: '127.0.0.1' });
});
