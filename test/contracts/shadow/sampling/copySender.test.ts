import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { CopySender } from '../../../../gateway/contracts/shadow/sampling/copySender.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { makePair } from '../../../support/certificates.ts';

const limits = { timeout: 600_000, body: 1024 };

// undici refuses each of these (decision 20).
it.each([
  ['an answer after 100 Continue that nobody asked for', []],
  ['a request with Keep-Alive', ['Keep-Alive', 'timeout=5']],
  ['a request with Expect', ['Expect', '100-continue']],
])('sends a copy and reads its response: %s', async (_what, fields) => {
  let seen = '';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (bytes) => {
      seen = String(bytes);
      socket.end('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tls = { verify: true, servername: undefined, ca: undefined };
  const sender = new CopySender({ tls }, { timeout: 60_000, body: 1024 });
  onTestFinished(() => {
    sender.close();
    server.close();
  });
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const result = await sender.send('GET', { target, host: 'api.example', path: '/a', prefix: '' }, [
    'X-A',
    '1',
    ...fields,
  ]);
  expect(result).toMatchObject({ status: 200, body: Buffer.from('ok') });
  expect(seen).toMatch(/^GET \/a HTTP\/1\.1\r\nHost: api\.example\r\nX-A: 1\r\n/);
});

it('says why a copy failed that node:http does not send', async () => {
  const sender = new CopySender({ tls: { verify: true, servername: undefined, ca: undefined } }, limits);
  onTestFinished(() => sender.close());
  const address = { target: 'http://127.0.0.1:1', host: 'api.example', path: '/a', prefix: '' };
  expect([await sender.send('GET', address, []), sender.lastFailure]).toEqual(['failed', 'ECONNREFUSED']);
  const unsendable = { ...address, path: '/a b' };
  expect([await sender.send('GET', unsendable, []), sender.lastFailure]).toEqual([
    'failed',
    'ERR_UNESCAPED_CHARACTERS',
  ]);
});

it('trusts no certificate if the file with the authority cannot be read, and names the file', async () => {
  const folder = temporaryFolder();
  const server = createTlsServer(makePair(folder, 'localhost'), (_req, res) => res.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ca = join(folder, 'localhost.made.crt');
  const target = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const address = { target, host: 'localhost', path: '/a', prefix: '' };
  const tls = { verify: true, servername: 'localhost', ca };
  const sender = new CopySender({ tls }, limits);
  rmSync(ca);
  const late = new CopySender({ tls }, limits);
  onTestFinished(() => {
    sender.close();
    late.close();
    server.close();
  });
  // It has read the file before.
  expect(await sender.send('GET', address, [])).toMatchObject({ status: 200 });
  expect([await late.send('GET', address, []), late.lastFailure]).toEqual([
    'failed',
    `${ca} cannot be read: there is no such file`,
  ]);
});
