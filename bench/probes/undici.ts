/**
 * A minimal proxy: node:http receives requests, as in the gateway, and undici sends them. Its costs are the least that a
 * gateway with undici could have: it sets no headers, matches no routes and has no limits and no log.
 * Usage: node undici.ts PORT BACKEND_PORT
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

const [port = 0, backendPort] = process.argv.slice(2).map(Number);
const pool = new Pool(`http://127.0.0.1:${backendPort}`, { connections: 256, pipelining: 1 });

class Forward implements Dispatcher.DispatchHandler {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#req = req;
    this.#res = res;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#res.once('close', () => {
      if (!this.#res.writableFinished) controller.abort(new Error('the client disconnected'));
    });
  }

  onResponseStart({ rawHeaders }: Dispatcher.DispatchController, status: number): void {
    this.#res.writeHead(status, Array.isArray(rawHeaders) ? rawHeaders.map(String) : []);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#res.write(chunk)) return;
    controller.pause();
    this.#res.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#res.end();
  }

  onResponseError(): void {
    this.#req.destroy();
  }
}

const server = createServer((req, res) => {
  const headers = req.rawHeaders.filter((_, index, all) => all[index - (index % 2)]?.toLowerCase() !== 'connection');
  const hasBody = req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined;
  const { method = 'GET', url = '/' } = req;
  pool.dispatch({ method, path: url.slice('/v1'.length), headers, body: hasBody ? req : null }, new Forward(req, res));
});
server.listen(port, '127.0.0.1');
