/** node acceptAll.ts PORT: an HTTP server that reads every request and answers 200, as an OpenTelemetry collector does. */

import { createServer } from 'node:http';

createServer((req, res) => {
  req.resume().on('end', () => res.writeHead(200, { 'Content-Length': 0 }).end());
}).listen(Number(process.argv[2]), '127.0.0.1');
