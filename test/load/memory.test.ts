import { expect, it } from 'vitest';
import { rssBytes } from '../../bench/support/proc.ts';
import {
  manyBytes,
  mebibyte,
  peakUntilStalled,
  sendWithoutReading,
  startGatewayProcess,
  startLoadedBackend,
} from './support.ts';

const size = 256 * mebibyte;
// Far less than the body, and more than the growth of a heap between two garbage collections on a busy machine.
const allowedGrowth = 48 * mebibyte;

it('does not buffer 256 MiB for a client that stops reading', async () => {
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
  const client = await sendWithoutReading(port, `GET /v1/${size} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const peak = await peakUntilStalled(large.taken, () => rssBytes(pid));

  expect(large.taken(), 'bytes that the backend sent').toBeLessThan(size);
  expect(peak - before, 'growth of resident memory in bytes').toBeLessThan(allowedGrowth);
  client.destroy();
});

it('does not buffer 256 MiB from a client for a backend that stops reading', async () => {
  const backend = await startLoadedBackend((req, res) => {
    if (req.url !== '/stall') req.resume().on('end', () => res.end());
  });
  const { port, pid } = await startGatewayProcess(backend.url, { limits: { body: '256MiB' } });
  await warmUp(port, 'POST');

  const before = rssBytes(pid);
  const client = await sendWithoutReading(
    port,
    `POST /v1/stall HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`,
  );
  const large = manyBytes(size);
  large.stream.pipe(client);
  const peak = await peakUntilStalled(large.taken, () => rssBytes(pid));

  expect(large.taken(), 'bytes that the client sent').toBeLessThan(size);
  expect(peak - before, 'growth of resident memory in bytes').toBeLessThan(allowedGrowth);
  client.destroy();
});

/** Transfers bodies until the heap and the JIT compilers have reached their usual memory. */
async function warmUp(port: number, method: 'GET' | 'POST'): Promise<void> {
  const url = `http://127.0.0.1:${port}/v1/${10 * mebibyte}`;
  for (let round = 0; round < 8; round++) {
    const body = method === 'POST' ? Buffer.alloc(10 * mebibyte) : null;
    await (await fetch(url, { method, body })).arrayBuffer();
  }
}
