import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

/** A backend that costs next to nothing: `body` for every head that comes. Returns its URL. */
export async function startPlainBackend(body: string): Promise<string> {
  const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('data', (data) => {
      if (data.toString('latin1').endsWith('\r\n\r\n')) socket.write(answer);
    });
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1', 4096);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
