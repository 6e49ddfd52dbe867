import { describe, expect, it } from 'vitest';
import { okAnswer } from '../support/backend.ts';
import { expectProblem } from '../support/problem.ts';
import { message } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const start = (script = okAnswer) => startWire(script, { version: { limits: { body: '1KiB' } } });

function head(line: string, length: number, ...fields: string[]): string {
  return message(line, 'Host: api.test', `Content-Length: ${length}`, ...fields);
}

// RFC 9110 §10.1.1.
describe('Expect: 100-continue', () => {
  it.each(['100-continue', '100-Continue', ' 100-CONTINUE '])(
    '%j is answered by the gateway and not forwarded',
    async (value) => {
      const { backend, client } = await start();
      client.send(head('POST /v1/x HTTP/1.1', 5, `Expect: ${value}`));
      await client.bytes('HTTP/1.1 100'.length).then((bytes) => expect(bytes).toBe('HTTP/1.1 100'));
      client.send('hello');
      await rest(client);
      expect(backend.request.body).toBe('hello');
      expect(valuesOf(backend.request, 'expect')).toEqual([]);
    },
  );

  it('is answered once, and the final answer follows', async () => {
    const { client } = await start();
    client.send(`${head('POST /v1/x HTTP/1.1', 5, 'Expect: 100-continue')}hello`);
    const response = await client.response('POST');
    expect(response.status).toBe(200);
    expect(response.interim.length).toBeLessThanOrEqual(1);
  });

  it('works for a chunked body', async () => {
    const { backend, client } = await start();
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Transfer-Encoding: chunked', 'Expect: 100-continue'));
    await client.bytes('HTTP/1.1 100'.length);
    client.send('5\r\nhello\r\n0\r\n\r\n');
    await rest(client);
    expect(backend.request.body).toBe('hello');
  });

  it('gets only one 100 if the backend sends one as well', async () => {
    const { client } = await start(`HTTP/1.1 100 Continue\r\n\r\n${okAnswer}`);
    client.send(`${head('POST /v1/x HTTP/1.1', 5, 'Expect: 100-continue')}hello`);
    const { interim } = await client.response('POST');
    expect(interim.map(({ status }) => status).filter((status) => status === 100).length).toBeLessThanOrEqual(1);
  });

  it.each([
    ['a body over the limit', 'POST /v1/x HTTP/1.1', 1025, 413],
    ['an unknown version', 'POST /nothing HTTP/1.1', 5, 404],
    ['a bad target', 'POST /v1/../x HTTP/1.1', 5, 400],
    ['a method that is not allowed', 'TRACE /v1/x HTTP/1.1', 5, 405],
  ])('gets no 100 before the refusal of %s', async (_name, line, length, status) => {
    const { backend, client } = await start();
    client.send(head(line, length, 'Expect: 100-continue'));
    const response = await client.response('POST');
    expectProblem(response, status);
    expect(response.interim).toEqual([]);
    expect(backend.bytes).toBe('');
  });

  it('is ignored from HTTP/1.0', async () => {
    const { backend, client } = await start();
    client.send(`${head('POST /v1/x HTTP/1.0', 5, 'Expect: 100-continue')}hello`);
    const response = await client.response('POST');
    expect([response.status, response.interim]).toEqual([200, []]);
    expect(valuesOf(backend.request, 'expect')).toEqual([]);
  });

  it('without a body needs no 100', async () => {
    const { backend, client } = await start();
    client.send(message('GET /v1/x HTTP/1.1', 'Host: api.test', 'Expect: 100-continue'));
    expect((await client.response()).status).toBe(200);
    expect(valuesOf(backend.request, 'expect')).toEqual([]);
  });
});

// RFC 9110 §10.1.1, §15.5.18.
it.each(['foo', '100-continue, foo', '200-ok', '100-continue;x=y', '100'])('Expect: %s is 417', async (value) => {
  const { backend, client } = await start();
  client.send(head('POST /v1/x HTTP/1.1', 5, `Expect: ${value}`));
  const response = await client.response('POST');
  expectProblem(response, 417);
  expect(response.interim).toEqual([]);
  expect(backend.bytes).toBe('');
});

/** The rest of a 100 whose first bytes were taken, then the final answer. */
async function rest(client: Awaited<ReturnType<typeof start>>['client']): Promise<void> {
  let line = '';
  while (!line.endsWith('\r\n\r\n')) line += await client.bytes(1);
  expect((await client.response('POST')).status).toBe(200);
}
