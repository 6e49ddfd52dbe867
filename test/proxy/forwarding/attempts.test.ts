import { describe, expect, it } from 'vitest';
import type { Connection } from '../../../gateway/http1/connection.ts';
import { ConnectionPool } from '../../../gateway/http1/connectionPool.ts';
import { type RetryWhere, retryWhere, wasClosedWhileIdle } from '../../../gateway/proxy/forwarding/attempts.ts';
import { exchange, startBackend } from '../../http1/backend.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

/** A connection that was lost after its backend sent `answers`. The last of them may be incomplete. */
async function lost(...answers: string[]): Promise<Connection> {
  let count = 0;
  const backend = await startBackend((socket) => {
    const answer = answers[count];
    count += 1;
    socket.write(answer ?? '');
    if (count >= answers.length) socket.end();
  });
  const connection = new ConnectionPool(backend.endpoint, 0).connect(0);
  for (const answer of answers.slice(0, -1)) expect(await exchange(connection), answer).toMatchObject({ status: 200 });
  expect(await exchange(connection)).toMatchObject({ failure: { kind: 'lost' } });
  return connection;
}

/** How a connection was lost. */
const failures = {
  fresh: [''],
  'fresh, in the middle of its head': ['HTTP/1.1 2'],
  kept: [ok, ''],
  'kept twice': [ok, ok, ''],
  'kept, in the middle of its head': [ok, 'H'],
  'kept, behind an interim response': [ok, 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  'kept, in the middle of its body': [ok, 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab'],
} as const;

const request = { method: 'GET', hasBody: false, bodyStarted: false };

describe('a lost connection', () => {
  it.each<[how: keyof typeof failures, where: RetryWhere, crossing: boolean]>([
    ['fresh', 'elsewhere', false],
    ['fresh, in the middle of its head', 'nowhere', false],
    ['kept', 'anywhereUncharged', true],
    ['kept twice', 'anywhereUncharged', true],
    ['kept, in the middle of its head', 'nowhere', false],
    ['kept, behind an interim response', 'nowhere', false],
    ['kept, in the middle of its body', 'nowhere', false],
  ])('that was %s is replaced %s; closed while idle: %s', async (how, where, crossing) => {
    const connection = await lost(...failures[how]);
    expect(retryWhere('lost', { ...request, connection })).toBe(where);
    expect(wasClosedWhileIdle('lost', connection)).toBe(crossing);
  });

  it.each<[method: string, hasBody: boolean, kept: RetryWhere, fresh: RetryWhere]>([
    ['GET', false, 'anywhereUncharged', 'elsewhere'],
    ['HEAD', false, 'anywhereUncharged', 'elsewhere'],
    ['OPTIONS', false, 'anywhereUncharged', 'elsewhere'],
    ['GET', true, 'nowhere', 'nowhere'],
    ['OPTIONS', true, 'nowhere', 'nowhere'],
    ['POST', false, 'nowhere', 'nowhere'],
    ['PUT', false, 'nowhere', 'nowhere'],
    ['PATCH', false, 'nowhere', 'nowhere'],
    ['DELETE', false, 'nowhere', 'nowhere'],
    ['PROPFIND', false, 'nowhere', 'nowhere'],
    ['get', false, 'nowhere', 'nowhere'],
  ])(
    'is replaced for %s, with a body %s: %s when it was kept, %s when it was fresh',
    (method, hasBody, kept, fresh) => {
      const attempt = { method, hasBody, bodyStarted: false };
      expect(retryWhere('lost', { ...attempt, connection: { earlierExchanges: 1, responseBegun: false } })).toBe(kept);
      expect(retryWhere('lost', { ...attempt, connection: { earlierExchanges: 0, responseBegun: false } })).toBe(fresh);
    },
  );
});

describe('another failure', () => {
  it.each([
    ['unreachable', 'GET', false, false, true],
    ['unreachable', 'POST', true, false, true],
    ['unreachable', 'DELETE', false, false, true],
    ['unreachable', 'POST', true, true, false],
    ['connect-timeout', 'GET', false, false, true],
    ['connect-timeout', 'POST', true, false, true],
    ['connect-timeout', 'DELETE', false, false, true],
    ['connect-timeout', 'POST', true, true, false],
    ['unresolved', 'GET', false, false, true],
    ['unresolved', 'POST', true, true, false],
    ['lost', 'GET', true, true, false],
    ['malformed', 'GET', false, false, false],
    ['timeout', 'GET', false, false, false],
  ] as const)(
    '%s, of %s with a body %s that has begun %s, is tried again: %s',
    (kind, method, hasBody, bodyStarted, expected) => {
      const connection = { earlierExchanges: 1, responseBegun: false };
      const where = retryWhere(kind, { method, hasBody, bodyStarted, connection });
      const there = kind === 'connect-timeout' || kind === 'unresolved' ? 'elsewhere' : 'anywhere';
      expect(where).toBe(expected ? there : 'nowhere');
      expect(wasClosedWhileIdle(kind, connection)).toBe(kind === 'lost');
    },
  );
});
