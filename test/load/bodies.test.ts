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
  ['with a length', { 'content-length': String(body.length) }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
])('10 MiB %s', (_name, framing) => {
  it('arrive byte for byte at a client that reads by fits and starts', async () => {
    const backend = await startLoadedBackend((_req, res) => {
      res.writeHead(200, framing);
      pieces().pipe(res);
    });
    const gateway = await startGatewayProcess(backend.url);
    const sent = request({ port: gateway.port, path: '/v1/down' }).end();
    const [answer]: IncomingMessage[] = await once(sent, 'response');
    expect(await slowDigest(answer)).toBe(digest);
  });

  it('arrive byte for byte at a backend that reads by fits and starts', async () => {
    const backend = await startLoadedBackend((req, res) => {
      void slowDigest(req).then((received) => res.end(received));
    });
    const gateway = await startGatewayProcess(backend.url);
    const sent = request({ port: gateway.port, path: '/v1/up', method: 'POST', headers: framing });
    const answered = once(sent, 'response');
    await pipeline(pieces(), sent);
    const [answer]: IncomingMessage[] = await answered;
    expect(Buffer.concat((await answer?.toArray()) ?? []).toString()).toBe(digest);
  });
});

/** Uneven ones, so that no boundary of a chunk or of a buffer falls on theirs. */
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
