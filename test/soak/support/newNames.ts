/**
 * node newNames.ts PORT RATE NAMES: sends RATE pipelined requests per second to /v1 until stdin ends. /v1 is retired, so
 * no backend limits the rate. The requests use NAMES different client names; 0: each request has a new name. Prints the
 * number of responses and the time in seconds.
 */
import { connect, type Socket } from 'node:net';

const [port = '', rate = '15000', names = '0'] = process.argv.slice(2);
const tickMs = 5;
// The gateway may stop reading a connection on which more requests wait for a response.
const maxPending = 16;
const connections = 64;

let number = 0;
let answered = 0;
let over = false;
const pending = new Map<Socket, number>();

function open(): void {
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  pending.set(socket, 0);
  socket.on('data', (chunk) => {
    const count = chunk.toString('latin1').split('HTTP/1.1 410').length - 1;
    answered += count;
    pending.set(socket, (pending.get(socket) ?? 0) - count);
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    pending.delete(socket);
    if (!over) open();
  });
}

function send(count: number): void {
  const each = Math.ceil(count / connections);
  let left = count;
  for (const [socket, waiting] of pending) {
    const added = Math.min(each, left, maxPending - waiting);
    if (added <= 0) continue;
    const heads = Array.from({ length: added }, () => {
      number += 1;
      const name = names === '0' ? number : number % Number(names);
      return `GET /v1/x HTTP/1.1\r\nHost: a\r\nX-Client-Id: client-${process.pid}-${name}\r\n\r\n`;
    });
    socket.write(heads.join(''));
    pending.set(socket, waiting + added);
    left -= added;
  }
}

for (let count = 0; count < connections; count += 1) open();
const startedAt = performance.now();
let due = 0;
const timer = setInterval(() => {
  const total = ((performance.now() - startedAt) / 1000) * Number(rate);
  // Requests that could not be sent in time are dropped instead of sent later in one burst.
  const count = Math.min(Math.floor(total - due), (Number(rate) * 5 * tickMs) / 1000);
  due = total;
  send(count);
}, tickMs);
process.stdout.write('\n');
process.stdin.resume().on('end', () => {
  over = true;
  clearInterval(timer);
  const seconds = (performance.now() - startedAt) / 1000;
  process.stdout.write(JSON.stringify({ answered, seconds }), () => process.exit());
});
