import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

/** A backend that uses very little CPU: it returns `body` for every request head. Returns its URL. */
export async function startPlainBackend(body: string): Promise<string> {
  const response = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('data', (data) => {
      if (data.toString('latin1').endsWith('\r\n\r\n')) socket.write(response);
    });
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1', 4096);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
