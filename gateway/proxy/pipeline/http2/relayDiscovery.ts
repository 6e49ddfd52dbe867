import type { IncomingMessage, ServerResponse } from 'node:http';
import { duplexPair } from 'node:stream';
import { http } from '../../../shared/builtinHttp.ts';
import type { IncomingRequest, OutgoingResponse } from '../../forwarding/outbound.ts';

// Fields about the body, which is not passed on.
const framingNames = ['content-length', 'transfer-encoding', 'trailer', 'expect'];

/**
 * Answers a request with `discovery`, which is written for node:http, over a connection of HTTP/1.1 in memory. Discovery pages
 * are small and rare. The body of the request is not passed on, because discovery reads none.
 */
export function relayDiscovery(
  req: IncomingRequest,
  res: OutgoingResponse,
  discovery: (req: IncomingMessage, res: ServerResponse) => void,
): void {
  const [client, server] = duplexPair();
  http.createServer(discovery).emit('connection', server);
  // `rawHeaders` alternates names and values: the name of a value is at the even index before it.
  const headers = req.rawHeaders.filter((_, at) => !framingNames.includes(req.rawHeaders[at - (at % 2)] as string));
  res.once('close', () => client.destroy());
  const options = { createConnection: () => client, method: req.method, path: req.url, headers, setHost: false };
  try {
    http
      .request(options)
      .on('response', (response) => {
        res.writeHead(response.statusCode ?? 500, response.rawHeaders);
        // A page is small enough to stay in memory until the client reads it.
        response.on('data', (chunk: Buffer) => res.write(chunk)).on('end', () => res.end());
      })
      .on('error', () => res.destroy())
      .end();
  } catch {
    // node:http does not accept a field that the client has sent.
    res.destroy();
  }
}
