import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ForwardProxy {
  readonly url: string;
  /** The request lines so far: `CONNECT hook.example:443`, `GET http://hook.example/a`. */
  readonly requested: string[];
  /** The values of Proxy-Authorization so far. */
  readonly authorizations: (string | undefined)[];
}

export interface ForwardProxyOptions {
  /** Answers every request with this status instead. */
  readonly refusing?: number;
  /** Never answers CONNECT. */
  readonly silent?: boolean;
}

/**
 * A forward proxy on a port of 127.0.0.1, like one at the border of a network: CONNECT for https:, a request with the whole URL for http:.
 * Only the proxy knows the hosts. `portByHost`: `hook.example` → the port of 127.0.0.1 where it listens.
 */
export async function startForwardProxy(
  portByHost: Readonly<Record<string, number>>,
  { refusing, silent = false }: ForwardProxyOptions = {},
): Promise<ForwardProxy> {
  const requested: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '');
    requested.push(`${req.method} ${url.href}`);
    authorizations.push(req.headers['proxy-authorization']);
    const port = portByHost[url.hostname];
    if (refusing !== undefined || port === undefined) return void res.writeHead(refusing ?? 502).end();
    const { method = '', headers } = req;
    const onward = request({ host: '127.0.0.1', port, method, path: url.pathname + url.search, headers });
    onward.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  });
  server.on('connect', (req, socket, head) => {
    requested.push(`CONNECT ${req.url}`);
    authorizations.push(req.headers['proxy-authorization']);
    socket.on('error', () => socket.destroy());
    if (silent) return;
    const port = portByHost[(req.url ?? '').replace(/:\d+$/, '')];
    if (refusing !== undefined || port === undefined) return void socket.end(`HTTP/1.1 ${refusing ?? 502} No\r\n\r\n`);
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      onward.write(head);
      onward.pipe(socket);
      socket.pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requested, authorizations };
}
