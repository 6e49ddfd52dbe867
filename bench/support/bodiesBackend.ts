/**
 * A backend for benchmarks with large bodies. It answers GET with 10 MiB, and POST once it has read the whole body.
 * Usage: node bodiesBackend.ts PORT
 */
import { createServer } from 'node:http';

const large = Buffer.alloc(10 * 1024 * 1024, 'x');

const server = createServer((req, res) => {
  if (req.method === 'GET') res.writeHead(200, { 'content-length': large.length }).end(large);
  else req.resume().on('end', () => res.writeHead(200, { 'content-length': 2 }).end('ok'));
});
server.keepAliveTimeout = 0;
server.listen(Number(process.argv[2]), '127.0.0.1');
