import { once } from 'node:events';
import { it } from 'vitest';
import { manyBytes, sendWithoutReading, startGatewayProcess, startLoadedBackend } from './support.ts';

it.each([
  ['in the middle of a download', 'GET /v1/down HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['in the middle of a download that it does not read', 'GET /v1/down?unread HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['before the response', 'GET /v1/silent HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['in the middle of an upload', 'POST /v1/silent HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\nx'],
])('ends the request to the backend when the client leaves %s', async (_name, request) => {
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const backend = await startLoadedBackend((req, res) => {
    res.on('close', () => ended.resolve());
    if (req.url?.startsWith('/down')) manyBytes(Number.POSITIVE_INFINITY).stream.pipe(res);
    started.resolve();
  });
  const { port } = await startGatewayProcess(backend.url);

  const client = await sendWithoutReading(port, request);
  await started.promise;
  if (request.includes('/down HTTP')) await once(client.resume(), 'data');
  client.destroy();

  await ended.promise;
});
