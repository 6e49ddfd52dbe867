import { describe, expect, it } from 'vitest';
import type { Answer } from '../support/backend.ts';
import { expectProblem } from '../support/problem.ts';
import { get } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

const ok = 'Content-Length: 2\r\n\r\nok';

// RFC 9112 §4 (status line), RFC 9110 §15 (100 to 599), RFC 9112 §5 (fields), §6.3 (framing).
const malformed: [name: string, bytes: string][] = [
  ['garbage', 'garbage\r\n\r\n'],
  ['HTML instead of a head', '<html>hello</html>\r\n\r\n'],
  ['an SSH banner', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
  ['an empty status line', `\r\n\r\n${ok}`],
  ['HTTP/2.0', `HTTP/2.0 200 OK\r\n${ok}`],
  ['HTTP/0.9', `HTTP/0.9 200 OK\r\n${ok}`],
  ['HTTP/1.10', `HTTP/1.10 200 OK\r\n${ok}`],
  ['http/1.1', `http/1.1 200 OK\r\n${ok}`],
  ['ICY', `ICY 200 OK\r\n${ok}`],
  ['status 099', `HTTP/1.1 099 Low\r\n${ok}`],
  ['status 000', `HTTP/1.1 000 Zero\r\n${ok}`],
  ['status 600', `HTTP/1.1 600 High\r\n${ok}`],
  ['status 999', `HTTP/1.1 999 High\r\n${ok}`],
  ['status abc', `HTTP/1.1 abc Word\r\n${ok}`],
  ['status 20', `HTTP/1.1 20 Short\r\n${ok}`],
  ['status 2000', `HTTP/1.1 2000 Long\r\n${ok}`],
  ['status -20', `HTTP/1.1 -20 Minus\r\n${ok}`],
  ['status +200', `HTTP/1.1 +200 Plus\r\n${ok}`],
  ['no status', `HTTP/1.1\r\n${ok}`],
  ['two spaces before the status', `HTTP/1.1  200 OK\r\n${ok}`],
  ['a tab before the status', `HTTP/1.1\t200 OK\r\n${ok}`],
  ['a NUL in the reason', `HTTP/1.1 200 O\0K\r\n${ok}`],
  ['a CR in the reason', `HTTP/1.1 200 O\rK\r\n${ok}`],
  ['a header without a colon', `HTTP/1.1 200 OK\r\nX-A\r\n${ok}`],
  ['a header without a name', `HTTP/1.1 200 OK\r\n: a\r\n${ok}`],
  ['a space before the colon', `HTTP/1.1 200 OK\r\nX-A : b\r\n${ok}`],
  ['a space in a name', `HTTP/1.1 200 OK\r\nX A: b\r\n${ok}`],
  ['obs-text in a name', `HTTP/1.1 200 OK\r\nX-\xe9: b\r\n${ok}`],
  ['a folded header', `HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n${ok}`],
  ['white space before the first header', `HTTP/1.1 200 OK\r\n X-A: b\r\n${ok}`],
  ['a NUL in a value', `HTTP/1.1 200 OK\r\nX-A: b\0c\r\n${ok}`],
  ['a control byte in a value', `HTTP/1.1 200 OK\r\nX-A: b\x01c\r\n${ok}`],
  ['DEL in a value', `HTTP/1.1 200 OK\r\nX-A: b\x7fc\r\n${ok}`],
  ['a bare CR in a value', `HTTP/1.1 200 OK\r\nX-A: b\rX-B: c\r\n${ok}`],
  ['a bare LF between headers', `HTTP/1.1 200 OK\r\nX-A: b\nX-B: c\r\n${ok}`],
  ['bare LF throughout', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
  ['differing Content-Lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!'],
  ['a list of differing Content-Lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok!'],
  ['a negative Content-Length', 'HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok'],
  ['a signed Content-Length', 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok'],
  ['a hexadecimal Content-Length', 'HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok'],
  ['an empty Content-Length', 'HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nok'],
  ['a huge Content-Length', 'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nok'],
  ['Content-Length: 2 2', 'HTTP/1.1 200 OK\r\nContent-Length: 2 2\r\n\r\nok'],
  ['both framings', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n`],
  [
    'both framings, the other order',
    `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['Transfer-Encoding: gzip', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok'],
  ['Transfer-Encoding: identity', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nok'],
  ['Transfer-Encoding: gzip, chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  ['Transfer-Encoding: chunked, chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n'],
  ['Transfer-Encoding: xchunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
  ['an empty Transfer-Encoding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n'],
  ['chunked in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a head of 300 kB in one value', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(300_000)}\r\n${ok}`],
  ['a head of 300 kB in many fields', `HTTP/1.1 200 OK\r\n${'X-A: aaaaaaaaaaaaa\r\n'.repeat(15_000)}${ok}`],
  ['a status line of 300 kB', `HTTP/1.1 200 ${'a'.repeat(300_000)}\r\n${ok}`],
  ['a 101 without an upgrade request', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ['a 101 without anything', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a malformed 103', `HTTP/1.1 103 Early Hints\r\nLink : x\r\n\r\nHTTP/1.1 200 OK\r\n${ok}`],
];

const start = (script: Answer) => startWire(script, { defaults: { timeouts: { first_byte: '2s' } } });

describe('an invalid response becomes 502, and none of it is passed on', () => {
  it.each(malformed)('%s', async (_name, bytes) => {
    const { client } = await start([{ write: bytes }]);
    client.send(get('/v1/x'));
    const response = await client.response();
    expectProblem(response, 502);
    expect(response.interim).toEqual([]);
  });

  // RFC 9112 §6.3 (5): equal values may be taken as one.
  it.each(['Content-Length: 2\r\nContent-Length: 2', 'Content-Length: 2, 2'])(
    '%j is one length or 502',
    async (field) => {
      const { client } = await start(`HTTP/1.1 200 OK\r\n${field}\r\n\r\nok`);
      client.send(get('/v1/x'));
      const response = await client.response();
      if (response.status === 200) expect(response.body).toBe('ok');
      else expectProblem(response, 502);
    },
  );

  it.each([
    ['closed before the head', [{ end: true }]],
    ['reset before the head', [{ reset: true }]],
    ['closed within the status line', [{ write: 'HTTP/1.1 2' }, { end: true }]],
    ['closed within the head', [{ write: 'HTTP/1.1 200 OK\r\nContent-Len' }, { end: true }]],
    ['reset within the head', [{ write: 'HTTP/1.1 200 OK\r\nContent-Len' }, { wait: 20 }, { reset: true }]],
    ['closed behind a 1xx', [{ write: 'HTTP/1.1 100 Continue\r\n\r\n' }, { end: true }]],
  ] satisfies [string, Answer][])('a connection %s', async (_name, steps) => {
    const { client } = await start(steps);
    client.send(get('/v1/x'));
    expectProblem(await client.response(), 502);
  });

  it('interim responses without end', async () => {
    const { client } = await start([{ write: 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20_000) }]);
    client.send(get('/v1/x'));
    expectProblem(await client.response(), 502, 504);
  });
});
