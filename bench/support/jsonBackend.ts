/**
 * node jsonBackend.ts PORT [ITEMS]: answers every request with the same response, at little cost. Request bodies need a
 * Content-Length. With ITEMS, the response is a list of that many objects instead of the body of the workload.
 */
import { createServer } from 'node:net';
import { listBody, body as workloadBody } from './workload.ts';

const [port, items] = process.argv.slice(2);
const body = items === undefined ? workloadBody : listBody(Number(items));

const response = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);

createServer({ noDelay: true }, (socket) => {
  socket.setEncoding('latin1');
  let pending = '';
  socket.on('data', (chunk: string) => {
    pending += chunk;
    for (let end = endOfRequest(pending); end <= pending.length; end = endOfRequest(pending)) {
      pending = pending.slice(end);
      socket.write(response);
    }
  });
  socket.on('error', () => socket.destroy());
}).listen(Number(port), '127.0.0.1');

/** The length of the first request in `text`; infinite while its head is incomplete. */
function endOfRequest(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return Number.POSITIVE_INFINITY;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? 0;
  return head + 4 + Number(length);
}
