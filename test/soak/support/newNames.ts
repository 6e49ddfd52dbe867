/**
 * node newNames.ts PORT RATE NAMES: sends RATE requests a second to /v1, pipelined, until stdin ends. /v1 is retired, so
 * that no backend limits the rate. The requests share NAMES client names; 0: each has a name of its own. Prints how many
 * were answered, and in how many seconds.
 */
import { connect, type Socket } from 'node:net';

const [port = '', rate = '15000', names = '0'] = process.argv.slice(2);
const tickMs = 5;
// A gateway may stop reading a connection with more requests than that.
const mostAhead = 16;
const connections = 64;

let number = 0;
let answered = 0;
let over = false;
const ahead = new Map<Socket, number>();

function open(): void {
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  ahead.set(socket, 0);
  socket.on('data', (chunk) => {
    const count = chunk.toString('latin1').split('HTTP/1.1 410').length - 1;
    answered += count;
    ahead.set(socket, (ahead.get(socket) ?? 0) - count);
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    ahead.delete(socket);
    if (!over) open();
  });
}

function send(count: number): void {
  const each = Math.ceil(count / connections);
  let left = count;
  for (const [socket, waiting] of ahead) {
    const now = Math.min(each, left, mostAhead - waiting);
    if (now <= 0) continue;
    const heads = Array.from({ length: now }, () => {
      number += 1;
      const name = names === '0' ? number : number % Number(names);
      return `GET /v1/x HTTP/1.1\r\nHost: a\r\nX-Client-Id: client-${process.pid}-${name}\r\n\r\n`;
    });
    socket.write(heads.join(''));
    ahead.set(socket, waiting + now);
    left -= now;
  }
}

for (let count = 0; count < connections; count += 1) open();
const startedAt = performance.now();
let due = 0;
const timer = setInterval(() => {
  const total = ((performance.now() - startedAt) / 1000) * Number(rate);
  // What could not be sent in time is not sent later in one burst.
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
