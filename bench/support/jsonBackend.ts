/** node jsonBackend.ts PORT: answers anything bodiless with one canned answer, as cheaply as Node can. */
import { createServer } from 'node:net';
import { body } from './work.ts';

const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);

createServer({ noDelay: true }, (socket) => {
  socket.setEncoding('latin1');
  let pending = '';
  socket.on('data', (chunk: string) => {
    pending += chunk;
    for (let end = pending.indexOf('\r\n\r\n'); end >= 0; end = pending.indexOf('\r\n\r\n')) {
      pending = pending.slice(end + 4);
      socket.write(answer);
    }
  });
  socket.on('error', () => socket.destroy());
}).listen(Number(process.argv[2]), '127.0.0.1');
