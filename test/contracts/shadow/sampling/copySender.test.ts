import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { CopySender } from '../../../../gateway/contracts/shadow/sampling/copySender.ts';

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
