/** node jsonBackend.ts PORT: answers every request without a body with the same response, at the least possible cost. */
import { createServer } from 'node:net';
import { body } from './workload.ts';

const response = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);

createServer({ noDelay: true }, (socket) => {
  socket.setEncoding('latin1');
  let pending = '';
  socket.on('data', (chunk: string) => {
    pending += chunk;
    for (let end = pending.indexOf('\r\n\r\n'); end >= 0; end = pending.indexOf('\r\n\r\n')) {
      pending = pending.slice(end + 4);
      socket.write(response);
    }
  });
  socket.on('error', () => socket.destroy());
}).listen(Number(process.argv[2]), '127.0.0.1');
