// node http2Relay.server.ts PORT BACKEND_PORT [CERT KEY]: forwards HTTP/2 requests over pooled HTTP/1.1 connections. It does
// only what the workload needs: no checks, limits, timeouts or errors, and every response needs a Content-Length. So its CPU time
// is about the least that a proxy on node:http2 can need.
import { readFileSync } from 'node:fs';
import { createSecureServer, createServer, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { headers, successorLink } from '../support/workload.ts';

const [port, backendPort, cert, key] = process.argv.slice(2);
const idle: Socket[] = [];
/** By connection: the stream that waits for its response. */
const waiting = new Map<Socket, { readonly stream: ServerHttp2Stream; readonly path: string }>();

function open(): Socket {
  const socket = connect({ port: Number(backendPort), host: '127.0.0.1', noDelay: true });
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    const end = received.indexOf('\r\n\r\n');
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received)?.[1]);
    if (end < 0 || received.length < end + 4 + length) return;
    const [head, body] = [received.slice(0, end), received.slice(end + 4)];
    received = '';
    idle.push(socket);
    answer(socket, head, body);
  });
  return socket;
}

function answer(socket: Socket, head: string, body: string): void {
  const { stream, path } = waiting.get(socket) ?? {};
  if (!stream || !path || stream.closed) return;
  const fields: OutgoingHttpHeaders = { ':status': Number(head.slice(9, 12)), ...headers, link: successorLink(path) };
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (name !== 'connection' && name !== 'keep-alive') fields[name] = line.slice(colon + 1).trim();
  }
  stream.respond(fields);
  stream.end(body, 'latin1');
}

const server = cert && key ? createSecureServer({ cert: readFileSync(cert), key: readFileSync(key) }) : createServer();
server.on('stream', (stream: ServerHttp2Stream, fields) => {
  stream.on('error', () => {});
  const path = (fields[':path'] ?? '').slice('/v1'.length);
  const socket = idle.pop() ?? open();
  waiting.set(socket, { stream, path });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${fields[':authority']}\r\n\r\n`, 'latin1');
});
server.listen(Number(port), '127.0.0.1');
