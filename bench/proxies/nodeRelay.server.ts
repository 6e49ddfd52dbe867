// node nodeRelay.server.ts PORT BACKEND_PORT [CERT KEY]: forwards the requests of the workload over pooled connections. It
// does nothing else: no parser, checks, limits, timeouts or errors. It assumes that a read contains a whole request, and
// that a response has the body of the workload. A thread keeps a SQLite database open, because the ledger of the
// gateway needs such a thread. The cost of this relay is close to the least that a proxy on node:net or node:tls can have.
import { readFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { body, headers, path, successorLink } from '../support/workload.ts';

const [port, backendPort, cert, key] = process.argv.slice(2);
const prefix = '/v1';
const fields = Object.entries({ ...headers, link: successorLink(path) }).map(
  ([name, value]) => `${name}: ${value}\r\n`,
);
const added = Buffer.from(fields.join(''), 'latin1');
const idle: Socket[] = [];
/** By connection to the backend: the client that waits for its response. */
const waiting = new Map<Socket, Socket>();

function open(): Socket {
  const socket = connect({ port: Number(backendPort), host: '127.0.0.1', noDelay: true });
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const end = received.indexOf('\r\n\r\n');
    if (end < 0 || received.length < end + 4 + body.length) return;
    const response = Buffer.allocUnsafe(received.length + added.length);
    const statusLineEnd = received.indexOf('\r\n') + 2;
    received.copy(response, 0, 0, statusLineEnd);
    added.copy(response, statusLineEnd);
    received.copy(response, statusLineEnd + added.length, statusLineEnd);
    received = Buffer.alloc(0);
    idle.push(socket);
    waiting.get(socket)?.write(response);
  });
  socket.on('close', () => {
    const at = idle.indexOf(socket);
    if (at >= 0) idle.splice(at, 1);
    waiting.delete(socket);
  });
  return socket.on('error', () => {});
}

function serveClient(client: Socket): void {
  client.on('error', () => {});
  client.on('data', (chunk: Buffer) => {
    const socket = idle.pop() ?? open();
    waiting.set(socket, client);
    // `GET /v1/x` becomes `GET /x`: the bytes before the prefix move to the right, over the prefix.
    const prefixStart = chunk.indexOf(prefix);
    chunk.copyWithin(prefix.length, 0, prefixStart);
    socket.write(chunk.subarray(prefix.length));
  });
}

const tls = cert && key && { cert: readFileSync(cert), key: readFileSync(key), ALPNProtocols: ['http/1.1'] };
const server = tls
  ? createTlsServer({ ...tls, noDelay: true }, serveClient)
  : createServer({ noDelay: true }, serveClient);
// Otherwise Node would write its compile cache only at a normal exit, but the benchmark stops a proxy by a signal.
server.listen(Number(port), '127.0.0.1', () => flushCompileCache());
const sqlite =
  "new (require('node:sqlite').DatabaseSync)(':memory:').exec('CREATE TABLE t (a)'); setInterval(() => {}, 60_000)";
new Worker(sqlite, { eval: true });
