import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { rssBytes } from '../../bench/support/proc.ts';
import { mebibyte, startGatewayProcess, startLoadedBackend } from '../load/support.ts';
import { connectTo, get } from '../support/rawClient.ts';

const connections = 1_900;
const pipelined = 950;

it('1,900 connections with 950 requests pipelined after a slow one do not delay other clients', {
  timeout: 120_000,
}, async () => {
  const backend = await startLoadedBackend((req, res) => {
    if (req.url !== '/slow') res.end('ok');
  });
  const { port, pid } = await startGatewayProcess(backend.url);
  await latencies(port, 2_000); // compilers warm up
  const alone = await latencies(port, 2_000);
  const before = rssBytes(pid);
  let peak = before;
  const sampling = setInterval(() => {
    peak = Math.max(peak, rssBytes(pid));
  }, 50);

  const file = fileURLToPath(new URL('support/pipelineFlood.ts', import.meta.url));
  const flood = spawn(process.execPath, [file, String(port), String(connections), String(pipelined)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void flood.kill('SIGKILL'));
  let written = false;
  flood.stdout.once('data', () => {
    written = true;
  });
  const during = await latencies(port, () => !written);
  const waiting = await latencies(port, 3_000);
  flood.stdin.end();
  await once(flood, 'close');
  const after = await latencies(port, 10_000);
  clearInterval(sampling);

  const growth = peak - before;
  console.log(
    `soak: pipelining: worst response ${worst(alone)} ms before the load, ${worst(during)} ms while it is sent, ` +
      `${worst(waiting)} ms while it waits, ${worst(after)} ms after it; ` +
      `RSS ${mib(before)} MiB, peak ${mib(peak)}, at the end ${mib(rssBytes(pid))}`,
  );
  expect(growth, 'growth of resident memory').toBeLessThan(256 * mebibyte);
  expect(worst([...during, ...waiting]), 'worst response in ms').toBeLessThan(100);
  expect(backend.connections(), 'connections to the backend after the clients left').toBeLessThan(10);
});

/** Sends one request after another for `duration` ms, or while it returns true. Returns the response times in ms. */
async function latencies(port: number, duration: number | (() => boolean)): Promise<number[]> {
  const client = await connectTo(port);
  const until = performance.now() + (typeof duration === 'number' ? duration : 0);
  const times: number[] = [];
  while (typeof duration === 'number' ? performance.now() < until : duration()) {
    const startedAt = performance.now();
    client.send(get('/v1/x'));
    expect((await client.response()).status).toBe(200);
    times.push(performance.now() - startedAt);
  }
  client.end();
  return times;
}

function worst(times: readonly number[]): number {
  return Math.round(times.reduce((most, time) => Math.max(most, time), 0) * 10) / 10;
}

function mib(bytes: number): number {
  return Math.round(bytes / mebibyte);
}
