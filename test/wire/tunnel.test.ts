import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { get } from '../support/rawClient.ts';
import { membersOf, singleValueOf, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const dates = { deprecation: '2026-06-30', sunset: '2028-06-30T23:59:59Z' };
const upgrading = ['Connection: Upgrade', 'Upgrade: chat/2'];
const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat/2\r\nX-Own: 1\r\n\r\n';

/** Switches protocols, then sends everything back twice. */
const echo: Answer = [
  { write: switching },
  {
    take: (socket, early) => {
      const twice = (text: string) => socket.write(Buffer.from(text + text, 'latin1'));
      if (early !== '') twice(early);
      socket.on('data', (data) => twice(data.toString('latin1')));
      socket.on('end', () => socket.end('bye'));
    },
  },
];

const start = (script: Answer, version: Record<string, unknown> = {}) =>
  startWire(script, {
    version: { ...dates, ...version },
    routes: (url) => ({ '/v0': { retired: true }, '/v2': url }),
    now: '2026-08-01T00:00:00Z',
  });

function expectWarned(head: string): void {
  expect(head).toMatch(/^deprecation: @1782777600\r$/im);
  expect(head).toMatch(/^sunset: Fri, 30 Jun 2028 23:59:59 GMT\r$/im);
  expect(head).toMatch(/^link: <\/v2\/chat>; rel="successor-version"\r$/im);
}

/** RFC 9110 §7.8. */
describe('any protocol is tunnelled once the backend has switched', () => {
  it('the 101 carries the fields of the backend and the warning', async () => {
    const { backend, client } = await start(echo);
    client.send(get('/v1/chat', ...upgrading));
    const response = await client.response();
    expect([response.status, singleValueOf(response, 'upgrade'), singleValueOf(response, 'x-own')]).toEqual([
      101,
      'chat/2',
      '1',
    ]);
    expect(membersOf(response, 'connection').map((member) => member.toLowerCase())).toContain('upgrade');
    expectWarned(`${response.lines.join('\r\n')}\r\n`);
    expect(backend.request.target).toBe('/chat');
    expect(valuesOf(backend.request, 'upgrade')).toEqual(['chat/2']);
    expect(valuesOf(backend.request, 'x-forwarded-for')).toEqual(['127.0.0.1']);
    expect(valuesOf(backend.request, 'via')).toHaveLength(1);
  });

  it('bytes are passed on unchanged, both ways', async () => {
    const { client } = await start(echo);
    client.send(get('/v1/chat', ...upgrading));
    await client.response();
    const every = Array.from({ length: 256 }, (_, index) => String.fromCharCode(index)).join('');
    client.send(every);
    expect(await client.bytes(512)).toBe(every + every);
    const request = get('/v1/x');
    client.send(request);
    expect(await client.bytes(2 * request.length)).toBe(request + request);
  });

  it('bytes right after the request or the 101 are not lost', async () => {
    const { client } = await start([{ write: `${switching}early words` }]);
    client.send(`${get('/v1/chat', ...upgrading)}`);
    expect((await client.response()).status).toBe(101);
    expect(await client.bytes(11)).toBe('early words');
    const other = await start(echo);
    other.client.send(`${get('/v1/chat', ...upgrading)}hello`);
    expect((await other.client.response()).status).toBe(101);
    expect(await other.client.bytes(10)).toBe('hellohello');
  });

  it('a half-close reaches the backend, and the last bytes of the backend reach the client', async () => {
    const { backend, client } = await start(echo);
    client.send(get('/v1/chat', ...upgrading));
    await client.response();
    client.end();
    expect(await client.bytes(3)).toBe('bye');
    expect((await client.closed()).leftover).toBe('');
    expect(backend.connections[0]?.closed).toBe('end');
  });

  it('the end of the backend ends the client', async () => {
    const { client } = await start([{ write: `${switching}last` }, { end: true }]);
    client.send(get('/v1/chat', ...upgrading));
    await client.response();
    expect((await client.closed()).leftover).toBe('last');
  });

  it('a reset of the client leaves nothing open at the backend', async () => {
    const { backend, client } = await start(echo);
    client.send(get('/v1/chat', ...upgrading));
    await client.response();
    client.reset();
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('a reset of the backend leaves nothing open at the client', async () => {
    const { client } = await start([{ write: switching }, { wait: 50 }, { reset: true }]);
    client.send(get('/v1/chat', ...upgrading));
    await client.response();
    await client.closed();
  });

  it('an open tunnel is not closed after idle, and one with a half-close is', async () => {
    const silent: Answer = [
      { write: switching },
      { take: (socket) => socket.on('data', (data) => socket.write(data)) },
    ];
    const { client } = await start(silent, { timeouts: { idle: '200ms', stream_idle: 'off' } });
    client.send(get('/v1/chat', ...upgrading));
    await client.response();
    for (const word of ['one', 'two']) {
      client.send(word);
      expect(await client.bytes(3)).toBe(word);
      await sleep(600);
    }
    client.end();
    await client.closed();
  });

  it('an idle tunnel is closed after stream_idle', async () => {
    const { client } = await start(echo, { timeouts: { stream_idle: '300ms' } });
    client.send(get('/v1/chat', ...upgrading));
    await client.response();
    await client.closed();
  });
});
