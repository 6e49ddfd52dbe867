import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { mebibyte, startGatewayProcess, startLoadedBackend } from './support.ts';

const body = randomBytes(10 * mebibyte);
const digest = createHash('sha256').update(body).digest('hex');

describe.each([
  ['with a Content-Length', { 'content-length': String(body.length) }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
])('10 MiB %s', (_name, framing) => {
  it('arrive unchanged at a client that pauses while it reads', async () => {
    const backend = await startLoadedBackend((_req, res) => {
      res.writeHead(200, framing);
      pieces().pipe(res);
    });
    const gateway = await startGatewayProcess(backend.url);
    const sent = request({ port: gateway.port, path: '/v1/down' }).end();
    const [response]: IncomingMessage[] = await once(sent, 'response');
    expect(await slowDigest(response)).toBe(digest);
  });

  it('arrive unchanged at a backend that pauses while it reads', async () => {
    const backend = await startLoadedBackend((req, res) => {
      void slowDigest(req).then((received) => res.end(received));
    });
    const gateway = await startGatewayProcess(backend.url);
    const sent = request({ port: gateway.port, path: '/v1/up', method: 'POST', headers: framing });
    const responded = once(sent, 'response');
    await pipeline(pieces(), sent);
    const [response]: IncomingMessage[] = await responded;
    expect(Buffer.concat((await response?.toArray()) ?? []).toString()).toBe(digest);
  });
});

/** The body in pieces of different sizes, so that their boundaries differ from those of chunks and buffers. */
function pieces(): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0, size = 1; at < body.length; at += size, size = (size * 7 + 13) % 150_001) {
        yield body.subarray(at, at + size);
      }
    })(),
  );
}

async function slowDigest(message: IncomingMessage | undefined): Promise<string> {
  const hash = createHash('sha256');
  let received = 0;
  for await (const chunk of message ?? []) {
    hash.update(chunk);
    received += chunk.length;
    if (received > mebibyte) {
      received = 0;
      await sleep(20);
    }
  }
  return hash.digest('hex');
}
