import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { rssBytes } from '../../bench/support/proc.ts';
import { manyBytes, mebibyte, peakUntilStill, say, startGatewayProcess, startLoadedBackend } from './support.ts';

const size = 256 * mebibyte;
// Far less than what is sent, and more than what a heap grows by between two collections on a busy machine.
const allowed = 48 * mebibyte;

it('holds back 256 MiB from a client that has stopped reading, rather than keep them', {
  timeout: 120_000,
}, async () => {
  let large = manyBytes(0);
  const backend = await startLoadedBackend((req, res) => {
    const length = Number(req.url?.slice(1));
    large = manyBytes(length);
    res.writeHead(200, { 'content-length': length });
    large.stream.pipe(res);
  });
  const { port, pid } = await startGatewayProcess(backend.url);
  await warmUp(port, 'GET');

  const before = rssBytes(pid);
  const client = await say(port, `GET /v1/${size} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const peak = await peakUntilStill(large.taken, () => rssBytes(pid));

  expect(large.taken(), 'the backend was held back').toBeLessThan(size);
  expect(peak - before, 'growth of resident memory in bytes').toBeLessThan(allowed);
  client.destroy();
});

it('holds back a client that sends 256 MiB to a stalled backend, rather than keep them', {
  timeout: 120_000,
}, async () => {
  const backend = await startLoadedBackend((req, res) => {
    if (req.url !== '/stall') req.resume().on('end', () => res.end());
  });
  const { port, pid } = await startGatewayProcess(backend.url, { limits: { body: '256MiB' } });
  await warmUp(port, 'POST');

  const before = rssBytes(pid);
  const client = await say(port, `POST /v1/stall HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`);
  const large = manyBytes(size);
  large.stream.pipe(client);
  const peak = await peakUntilStill(large.taken, () => rssBytes(pid));

  expect(large.taken(), 'the client was held back').toBeLessThan(size);
  expect(peak - before, 'growth of resident memory in bytes').toBeLessThan(allowed);
  client.destroy();
});

/** Bodies at full speed, so that a young heap's growth and the compilers' are not taken for kept bytes. */
async function warmUp(port: number, method: 'GET' | 'POST'): Promise<void> {
  const url = `http://127.0.0.1:${port}/v1/${10 * mebibyte}`;
  for (let round = 0; round < 8; round++) {
    const body = method === 'POST' ? Buffer.alloc(10 * mebibyte) : null;
    await (await fetch(url, { method, body })).arrayBuffer();
  }
  await sleep(200);
}
