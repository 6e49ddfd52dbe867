import { describe, expect, it } from 'vitest';
import { type Answer, answer, type SeenRequest, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { refusedUrl, startTestGateway, unansweringUrl } from '../support/gateway.ts';
import { expectProblem, expectProblemHead } from '../support/problem.ts';
import { ask, connectTo, get, message, post } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

/** Answers the first request on a connection with a 200, and the second one with `then`. */
function onReuse(then: Answer, onRetry: Answer = answer(200, 'fresh')): (request: SeenRequest) => Answer {
  return ({ index, connection }) => (index > 0 ? then : connection === 0 ? answer(200, 'first') : onRetry);
}

async function startReused(script: Answer) {
  const { backend, client } = await startWire(script);
  client.send(get('/v1/first'));
  expect((await client.response()).body).toBe('first');
  const sent = (method: string) => backend.requests.filter((each) => each.target === '/x' && each.method === method);
  return { backend, client, sent };
}

function bare(method: string, ...fields: string[]): string {
  return message(`${method} /v1/x HTTP/1.1`, 'Host: api.test', ...fields);
}

const endings: [name: string, answer: Answer][] = [
  ['reset', [{ reset: true }]],
  ['closed', [{ end: true }]],
];

// RFC 9110 §9.2.2, RFC 9112 §9.3.1: only idempotent requests may be sent again. The gateway repeats safe methods only.
describe.each(endings)('a reused connection that is %s while a request is sent', (_name, ending) => {
  it.each(['GET', 'OPTIONS'])('%s is sent again on a new connection', async (method) => {
    const { client, sent, backend } = await startReused(onReuse(ending));
    client.send(bare(method));
    expect((await client.response(method)).body).toBe('fresh');
    expect(sent(method)).toHaveLength(2);
    expect(backend.connections).toHaveLength(2);
  });

  it('HEAD is sent again', async () => {
    const { client, sent } = await startReused(onReuse(ending, 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'));
    client.send(bare('HEAD'));
    expect((await client.response('HEAD')).status).toBe(200);
    expect(sent('HEAD')).toHaveLength(2);
  });

  it('GET is sent again once only', async () => {
    const { client, sent } = await startReused(onReuse(ending, ending));
    client.send(bare('GET'));
    expectProblem(await client.response(), 502);
    expect(sent('GET')).toHaveLength(2);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'])('%s is never sent twice', async (method) => {
    const { client, sent } = await startReused(onReuse(ending));
    client.send(`${bare(method, 'Content-Length: 5')}hello`);
    expectProblem(await client.response(method), 502);
    expect(sent(method)).toHaveLength(1);
  });

  it('POST without a body is never sent twice', async () => {
    const { client, sent } = await startReused(onReuse(ending));
    client.send(bare('POST', 'Content-Length: 0'));
    expectProblem(await client.response('POST'), 502);
    expect(sent('POST')).toHaveLength(1);
  });

  it.each(['GET', 'OPTIONS'])('%s with a body is never sent twice', async (method) => {
    const { client, sent } = await startReused(onReuse(ending));
    client.send(`${bare(method, 'Content-Length: 5')}hello`);
    expectProblem(await client.response(method), 502);
    expect(sent(method)).toHaveLength(1);
  });
});

describe('nothing is sent again', () => {
  it.each([
    ['a byte of the answer', 'H'],
    ['half a head', 'HTTP/1.1 200 OK\r\nX-A'],
  ])('after %s', async (_name, bytes) => {
    const { client, sent } = await startReused(onReuse([{ write: bytes }, { wait: 30 }, { reset: true }]));
    client.send(bare('GET'));
    expectProblem(await client.response(), 502);
    expect(sent('GET')).toHaveLength(1);
  });

  it('after an interim answer', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n';
    const { client, sent } = await startReused(onReuse([{ write: early }, { wait: 30 }, { reset: true }]));
    client.send(bare('GET'));
    expectProblem(await client.response(), 502);
    expect(sent('GET')).toHaveLength(1);
  });

  it('after a malformed answer', async () => {
    const { client, sent } = await startReused(onReuse('garbage\r\n\r\n'));
    client.send(bare('GET'));
    expectProblem(await client.response(), 502);
    expect(sent('GET')).toHaveLength(1);
  });

  it('on a new connection', async () => {
    const { backend, port } = await startWire([{ reset: true }]);
    expectProblem(await ask(port, get('/v1/x')), 502);
    expect(backend.requests).toHaveLength(1);
  });

  it('with attempts: 1', async () => {
    const backend = await startBackend(onReuse([{ reset: true }]));
    const gateway = await startTestGateway({ '/v1': backend.url }, { defaults: { retries: { attempts: 1 } } });
    const client = await connectTo(gateway.port);
    client.send(get('/v1/first'));
    expect((await client.response()).body).toBe('first');
    client.send(get('/v1/x'));
    expectProblem(await client.response(), 502);
    expect(backend.requests).toHaveLength(2);
  });
});

it('a connection that the backend closed while it was idle is not used', async () => {
  const backend = await startBackend(({ target }) => [{ write: answer(200, target) }, { end: true }]);
  const gateway = await startTestGateway({ '/v1': backend.url });
  const client = await connectTo(gateway.port);
  for (const path of ['/a', '/b', '/c']) {
    client.send(post(`/v1${path}`, 'hello'));
    expect((await client.response('POST')).body).toBe(path);
    // The gateway has closed its side as well.
    await eventually(() => expect(backend.connections.at(-1)?.closed).toBe('end'));
  }
  expect(backend.requests).toHaveLength(3);
});

describe('a refused connection', () => {
  it('is 502', async () => {
    const gateway = await startTestGateway({ '/v1': await refusedUrl() });
    expectProblem(await ask(gateway.port, get('/v1/x')), 502);
    expectProblem(await ask(gateway.port, post('/v1/x', 'hello')), 502);
    expectProblemHead(await ask(gateway.port, bare('HEAD')), 502);
  });

  it.each(['GET', 'POST', 'DELETE'])('passes %s on to another target, with its body', async (method) => {
    const backend = await startBackend(({ body }) => answer(200, body));
    const gateway = await startTestGateway({ '/v1': { upstream: [await refusedUrl(), backend.url] } });
    for (let round = 0; round < 3; round += 1) {
      const response = await ask(gateway.port, `${bare(method, 'Content-Length: 5')}hello`);
      expect([response.status, response.body]).toEqual([200, 'hello']);
    }
    expect(backend.requests).toHaveLength(3);
  });
});

// No byte was sent, so that a POST may be retried as well.
it.each([
  ['GET', get('/v1/x')],
  ['POST', post('/v1/x', 'body')],
])('a %s whose target accepts no connection in time goes to the next target', async (_method, request) => {
  const backend = await startBackend();
  const gateway = await startTestGateway({
    '/v1': { upstream: [await unansweringUrl(), backend.url], timeouts: { connect: '200ms' } },
  });
  expect((await ask(gateway.port, request)).status).toBe(200);
  expect(backend.requests).toHaveLength(1);
});
