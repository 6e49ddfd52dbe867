/**
 * node pipelineFlood.ts PORT CONNECTIONS BEHIND: on each connection one slow request and BEHIND more, none of them read,
 * until stdin ends. Prints a line once all of it is written, or held back.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [port = '', connections = '', behind = ''] = process.argv.slice(2);
const flood = Buffer.from(
  `GET /v1/slow HTTP/1.1\r\nHost: a\r\n\r\n${'GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(Number(behind))}`,
);
const sockets = [];
for (let number = 0; number < Number(connections); number += 1) {
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  socket.on('error', () => {}).pause();
  await once(socket, 'connect');
  socket.write(flood);
  sockets.push(socket);
}
for (let last = -1, still = 0; still < 10; still += 1) {
  await sleep(100);
  const written = sockets.reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0);
  if (written !== last) still = 0;
  last = written;
}
process.stdout.write('written\n');
process.stdin.resume().on('end', () => process.exit());
