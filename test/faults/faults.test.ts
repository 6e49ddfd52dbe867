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

/** What the client gets, in short: `200`, `200 broken`, or the status and the code of a problem. */
type View = '200' | '200 broken' | `50${number} ${string}`;

async function viewOf(client: RawClient, method: Method, whole = body): Promise<View> {
  client.send(requests[method]);
  try {
    const response = await client.response(method);
    if (response.status !== 200)
      return `${response.status} ${expectProblem(response, response.status)['code']}` as View;
    expect(response.body).toBe(whole);
    return '200';
  } catch (error) {
    // An answer that was not to be is no answer that was cut off.
    if (!client.isClosed) throw error;
    return `${(await client.abortedResponse(method)).status} broken` as View;
  }
}

function startGateway(upstream: string) {
  const timeouts = { first_byte: '300ms', idle: '300ms' };
  return startTestGateway({ '/v1': { upstream, timeouts } });
}

/** What the client sees of a GET and of a POST; how many of each the backend saw. */
type Row = [fault: Fault, moment: Moment, view: View, seen: number];

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
const midRequest: Row[] = [
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
  const seen = (method: Method) => backend.bytes.split(`${method} /x HTTP/1.1\r\n`).length - 1;
  return { backend, proxy, gateway, seen, client: await connectTo(gateway.port) };
}

describe('a fault on a fresh connection', () => {
  const both = rows.flatMap((row) => [['GET', ...row] as const, ['POST', ...row] as const]);
  const all = [...both, ...midRequest.map((row) => ['POST', ...row] as const)];

  it.each(all)('%s: %s %s is %s, seen %i times', async (method, fault, moment, view, count) => {
    const { proxy, gateway, seen, client } = await startFaulty(fault, moment);
    expect(await viewOf(client, method)).toBe(view);
    expect(proxy.strikes).toBe(1);
    await eventually(() => expect(seen(method)).toBe(count));
    if (view !== '200') await eventually(() => expect(proxy.open, 'a connection that failed is left').toBe(0));
    proxy.heal();
    expect((await ask(gateway.port, get('/v1/after'))).status).toBe(200);
    expect(seen(method)).toBe(count);
  });

  // The reset may be there before the gateway knows of its connection: no byte has left it then, so it may try again.
  it.each(['GET', 'POST'] as const)('%s: reset on connect is not served', async (method) => {
    const { seen, client } = await startFaulty('reset', 'on connect');
    expect([failed, '502 TARGET_REFUSED']).toContain(await viewOf(client, method));
    expect(seen(method)).toBe(0);
  });

  it.each(['GET', 'POST'] as const)('%s: refused', async (method) => {
    const { port } = await startGateway(await refusedUrl());
    expect(await viewOf(await connectTo(port), method)).toBe('502 TARGET_REFUSED');
  });
});

describe('a fault on a connection that idles', () => {
  const idle: [Fault, View, number][] = [
    ['reset', '200', 1],
    ['half-close', '200', 1],
    ['garbage', '200', 1],
    ['delay', '200', 1],
    ['silence', silent, 0],
  ];
  const all = idle.flatMap((row) => [['GET', ...row] as const, ['POST', ...row] as const]);

  it.each(all)('%s: %s after the response is %s, seen %i times', async (method, fault, view, count) => {
    const { proxy, client, seen } = await startFaulty(fault, 'after the response');
    client.send(get('/v1/first'));
    expect((await client.response()).body).toBe(body);
    await eventually(() => expect(proxy.strikes).toBe(1));
    if (fault !== 'delay' && fault !== 'silence') await eventually(() => expect(proxy.open).toBe(0));
    expect(await viewOf(client, method)).toBe(view);
    await eventually(() => expect(seen(method)).toBe(count));
  });
});

const ok = 'HTTP/1.1 200 OK\r\n';
const contents: [name: string, script: Answer, whole: string, view: View][] = [
  ['a head cut short', [{ write: `${ok}Content-Le` }, { end: true }], '', failed],
  [
    'a Content-Length too long, closed',
    [{ write: `${ok}Content-Length: 99\r\n\r\nhello` }, { end: true }],
    '',
    '200 broken',
  ],
  ['a Content-Length too long, open', [{ write: `${ok}Content-Length: 99\r\n\r\nhello` }], '', '200 broken'],
  ['a Content-Length too short', `${ok}Content-Length: 5\r\n\r\nhello world`, 'hello', '200'],
  [
    'a second answer behind the first',
    `${ok}Content-Length: 5\r\n\r\nhello${ok}Content-Length: 4\r\n\r\nevil`,
    'hello',
    '200',
  ],
  [
    'a second answer, a moment later',
    [{ write: `${ok}Content-Length: 5\r\n\r\nhello` }, { wait: 20 }, { write: `${ok}Content-Length: 4\r\n\r\nevil` }],
    'hello',
    '200',
  ],
  ['a chunk size that is none', brokenChunks('zz\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['a negative chunk size', brokenChunks('-5\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['a huge chunk size', brokenChunks('fffffffffffffffff\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['a chunk longer than its size', brokenChunks('3\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['a chunk shorter than its size', brokenChunks('9\r\nworld\r\n0\r\n\r\n'), '', '200 broken'],
  ['chunks without an end', [...brokenChunks('5\r\nworld\r\n'), { end: true }], '', '200 broken'],
  ['bytes behind the last chunk', brokenChunks('5\r\nworld\r\n0\r\n\r\nevil'), 'helloworld', '200'],
];

/** The head and a good chunk first, so that the answer has begun when the rest comes. */
function brokenChunks(rest: string) {
  return [{ write: `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n` }, { wait: 30 }, { write: rest }];
}

describe('a response that is wrong in itself', () => {
  const all = contents.flatMap((row) => [['GET', ...row] as const, ['POST', ...row] as const]);

  it.each(all)('%s: %s', async (method, name, script, whole, expected) => {
    const backend = await startBackend((request) => (request.target === '/x' ? script : answer(200, 'sound')));
    const gateway = await startGateway(backend.url);
    const client = await connectTo(gateway.port);
    const view = await viewOf(client, method, whole);
    expect(view).toBe(expected);
    expect(backend.requests.filter(({ target }) => target === '/x')).toHaveLength(1);
    // Not a byte of it may be taken for the answer to another request.
    if (/a moment later/.test(name)) await eventually(() => expect(backend.connections[0]?.closed).toBe('end'));
    const next = view === '200' ? client : await connectTo(gateway.port);
    next.send(get('/v1/after'));
    expect((await next.response()).body).toBe('sound');
  });
});
