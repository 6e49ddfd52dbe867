// nodeLibraries.ts bundles this file. Options: --listen PORT --config FILE. It reads a routes.yaml with the libraries that the gateway
// uses for this, has a SQLite database in memory open in a thread, and responds from node:http. It contains no code of the gateway. So
// its memory is close to the least that a gateway with these libraries can need.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Worker } from 'node:worker_threads';
import { Command } from 'commander';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { body, headers, path, successorLink } from '../support/workload.ts';

z.config({ jitless: true });
const version = z.strictObject({ upstream: z.string(), deprecation: z.string(), sunset: z.string() });
const routesFile = z.looseObject({ routes: z.record(z.string(), z.union([z.string(), version])) });
const options = new Command()
  .requiredOption('--listen <port>')
  .requiredOption('--config <file>')
  .parse()
  .opts<{ listen: string; config: string }>();
routesFile.parse(parseDocument(readFileSync(options.config, 'utf8'), { lineCounter: new LineCounter() }).toJS());

const server = createServer((_request, response) => {
  response.writeHead(200, {
    ...headers,
    link: successorLink(path),
    'content-type': 'application/json',
    'content-length': body.length,
  });
  response.end(body);
});
server.listen(Number(options.listen), '127.0.0.1');
const sqlite =
  "new (require('node:sqlite').DatabaseSync)(':memory:').exec('CREATE TABLE t (a)'); setInterval(() => {}, 60_000)";
new Worker(sqlite, { eval: true });
