import { describe, expect, it } from 'vitest';
import { type Answer, answer, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { refusedUrl, startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, connectTo, get, post, type RawClient } from '../support/rawClient.ts';
import { type Fault, type Moment, startFaultyProxy } from './faultyProxy.ts';

const body = 'hello world';
const requests = { GET: get('/v1/x'), POST: post('/v1/x', 'some body') };
type Method = keyof typeof requests;

/** The response to the client: `200`, `200 broken`, or the status and code of a problem. */
type Outcome = '200' | '200 broken' | `50${number} ${string}`;

async function requestOutcome(client: RawClient, method: Method, expectedBody = body): Promise<Outcome> {
  client.send(requests[method]);
  try {
    const response = await client.response(method);
    if (response.status !== 200)
      return `${response.status} ${expectProblem(response, response.status)['code']}` as Outcome;
    expect(response.body).toBe(expectedBody);
    return '200';
  } catch (error) {
    // The connection is open: the error is a failed assertion, not a broken response.
    if (!client.isClosed) throw error;
    return `${(await client.abortedResponse(method)).status} broken` as Outcome;
  }
}

function startGateway(upstream: string) {
  const timeouts = { first_byte: '300ms', idle: '300ms' };
  return startTestGateway({ '/v1': { upstream, timeouts } });
}

/** The outcome for the client, and the number of requests that reach the backend. */
type Row = [fault: Fault, moment: Moment, outcome: Outcome, received: number];

const failed = '502 TARGET_FAILED';
const malformed = '502 TARGET_MALFORMED';
const silent = '504 TARGET_TIMED_OUT';

const rows: Row[] = [
  ['half-close', 'on connect', failed, 0],
  ['silence', 'on connect', silent, 0],
  ['delay', 'on connect', '200', 1],
  ['garbage', 'on connect', malformed, 0],
  ['reset', 'after the request head', failed, 1],
  ['half-close', 'after the request head', failed, 1],
  ['silence', 'after the request head', silent, 1],
  ['delay', 'after the request head', '200', 1],
  ['garbage', 'after the request head', malformed, 1],
  ['reset', 'before the response head', failed, 1],
  ['half-close', 'before the response head', failed, 1],
  ['silence', 'before the response head', silent, 1],
  ['delay', 'before the response head', '200', 1],
  ['garbage', 'before the response head', malformed, 1],
  ['reset', 'mid response head', failed, 1],
  ['half-close', 'mid response head', failed, 1],
  ['silence', 'mid response head', silent, 1],
  ['delay', 'mid response head', '200', 1],
  ['garbage', 'mid response head', malformed, 1],
  ['reset', 'mid response body', '200 broken', 1],
  ['half-close', 'mid response body', '200 broken', 1],
  ['silence', 'mid response body', '200 broken', 1],
  ['delay', 'mid response body', '200', 1],
];
const postRows: Row[] = [
  ['reset', 'mid request body', failed, 1],
  ['half-close', 'mid request body', failed, 1],
  ['silence', 'mid request body', silent, 1],
  ['delay', 'mid request body', '200', 1],
  ['garbage', 'mid request body', malformed, 1],
];

async function startFaulty(fault: Fault, moment: Moment) {
  const backend = await startBackend(answer(200, body));
  const proxy = await startFaultyProxy(backend.port, fault, moment);
  const gateway = await startGateway(proxy.url);
  const received = (method: Method) => backend.bytes.split(`${method} /x HTTP/1.1\r\n`).length - 1;
  return { backend, proxy, gateway, received, client: await connectTo(gateway.port) };
}

describe('a fault on a new connection', () => {
  const both = rows.flatMap((row) => [['GET', ...row] as const, ['POST', ...row] as const]);
  const all = [...both, ...postRows.map((row) => ['POST', ...row] as const)];

  it.each(all)('%s: %s %s → %s, %i requests at the backend', async (method, fault, moment, outcome, count) => {
    const { proxy, gateway, received, client } = await startFaulty(fault, moment);
    expect(await requestOutcome(client, method)).toBe(outcome);
    expect(proxy.faults).toBe(1);
    await eventually(() => expect(received(method)).toBe(count));
    if (outcome !== '200') await eventually(() => expect(proxy.open, 'open connections after a failure').toBe(0));
    proxy.heal();
    expect((await ask(gateway.port, get('/v1/after'))).status).toBe(200);
    expect(received(method)).toBe(count);
  });

  // The reset may arrive before the gateway has sent a byte. It may then send the request again.
  it.each(['GET', 'POST'] as const)('%s: reset on connect fails the request', async (method) => {
    const { received, client } = await startFaulty('reset', 'on connect');
    expect([failed, '502 TARGET_REFUSED']).toContain(await requestOutcome(client, method));
    expect(received(method)).toBe(0);
  });

  it.each(['GET', 'POST'] as const)('%s: connection refused → 502 TARGET_REFUSED', async (method) => {
    const { port } = await startGateway(await refusedUrl());
    expect(await requestOutcome(await connectTo(port), method)).toBe('502 TARGET_REFUSED');
  });
});

describe('a fault on an idle connection', () => {
  const idle: [Fault, Outcome, number][] = [
    ['reset', '200', 1],
    ['half-close', '200', 1],
    ['garbage', '200', 1],
    ['delay', '200', 1],
    ['silence', silent, 0],
  ];
  const all = idle.flatMap((row) => [['GET', ...row] as const, ['POST', ...row] as const]);

  it.each(all)('%s: %s after the response → %s, %i requests at the backend', async (method, fault, outcome, count) => {
    const { proxy, client, received } = await startFaulty(fault, 'after the response');
    client.send(get('/v1/first'));
    expect((await client.response()).body).toBe(body);
    await eventually(() => expect(proxy.faults).toBe(1));
    if (fault !== 'delay' && fault !== 'silence') await eventually(() => expect(proxy.open).toBe(0));
    expect(await requestOutcome(client, method)).toBe(outcome);
    await eventually(() => expect(received(method)).toBe(count));
  });
});

const ok = 'HTTP/1.1 200 OK\r\n';
const malformedResponses: [name: string, script: Answer, expectedBody: string, outcome: Outcome][] = [
  ['an incomplete head', [{ write: `${ok}Content-Le` }, { end: true }], '', failed],
  [
    'a Content-Length longer than the body, connection closed',
    [{ write: `${ok}Content-Length: 99\r\n\r\nhello` }, { end: true }],
    '',
    '200 broken',
  ],
  [
    'a Content-Length longer than the body, connection open',
    [{ write: `${ok}Content-Length: 99\r\n\r\nhello` }],
    '',
    '200 broken',
  ],
  ['a Content-Length shorter than the body', `${ok}Content-Length: 5\r\n\r\nhello world`, 'hello', '200'],
  [
    'a second response after the first',
    `${ok}Content-Length: 5\r\n\r\nhello${ok}Content-Length: 4\r\n\r\nevil`,
    'hello',
    '200',
  ],
  [
    'a second response 20 ms after the first',
    [{ write: `${ok}Content-Length: 5\r\n\r\nhello` }, { wait: 20 }, { write: `${ok}Content-Length: 4\r\n\r\nevil` }],
    'hello',
    '200',
  ],
  ['a chunk size that is not hexadecimal', brokenChunks('zz\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['a negative chunk size', brokenChunks('-5\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['a huge chunk size', brokenChunks('fffffffffffffffff\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['a chunk longer than its size', brokenChunks('3\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['a chunk shorter than its size', brokenChunks('9\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['chunks without a last chunk', [...brokenChunks('5\r\nworld\r\n'), { end: true }], '', '200 broken'],
  ['bytes after the last chunk', brokenChunks('5\r\nworld\r\n0\r\n\r\nevil'), 'helloworld', '200'],
];

/** Sends the head and a valid chunk first, so that the response has started before the rest arrives. */
function brokenChunks(rest: string) {
  return [{ write: `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n` }, { wait: 30 }, { write: rest }];
}

describe('a malformed response', () => {
  const all = malformedResponses.flatMap((row) => [['GET', ...row] as const, ['POST', ...row] as const]);

  it.each(all)('%s: %s', async (method, name, script, expectedBody, expected) => {
    const backend = await startBackend((request) => (request.target === '/x' ? script : answer(200, 'valid')));
    const gateway = await startGateway(backend.url);
    const client = await connectTo(gateway.port);
    const outcome = await requestOutcome(client, method, expectedBody);
    expect(outcome).toBe(expected);
    expect(backend.requests.filter(({ target }) => target === '/x')).toHaveLength(1);
    // No byte of it may become part of the response to another request.
    if (/20 ms after/.test(name)) await eventually(() => expect(backend.connections[0]?.closed).toBe('end'));
    const next = outcome === '200' ? client : await connectTo(gateway.port);
    next.send(get('/v1/after'));
    expect((await next.response()).body).toBe('valid');
  });
});
