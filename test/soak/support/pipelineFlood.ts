/**
 * node pipelineFlood.ts PORT CONNECTIONS PIPELINED: sends one slow request and PIPELINED more on each connection, and reads
 * no response. Prints a line once all bytes are written, or the peer has stopped reading. Ends when stdin ends.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [port = '', connections = '', pipelined = ''] = process.argv.slice(2);
const flood = Buffer.from(
  `GET /v1/slow HTTP/1.1\r\nHost: a\r\n\r\n${'GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(Number(pipelined))}`,
);
const sockets = [];
for (let number = 0; number < Number(connections); number += 1) {
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  socket.on('error', () => {}).pause();
  await once(socket, 'connect');
  socket.write(flood);
  sockets.push(socket);
}
for (let last = -1, unchanged = 0; unchanged < 10; unchanged += 1) {
  await sleep(100);
  const written = sockets.reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0);
  if (written !== last) unchanged = 0;
  last = written;
}
process.stdout.write('written\n');
process.stdin.resume().on('end', () => process.exit());
