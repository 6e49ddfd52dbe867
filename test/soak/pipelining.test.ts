import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { rssBytes } from '../../bench/support/proc.ts';
import { mebibyte, startGatewayProcess, startLoadedBackend } from '../load/support.ts';
import { connectTo, get } from '../support/rawClient.ts';

const connections = 1_900;
const behind = 950;

it('1,900 connections that pipeline 950 requests behind a slow one', { timeout: 120_000 }, async () => {
  const backend = await startLoadedBackend((req, res) => {
    if (req.url !== '/slow') res.end('ok');
  });
  const { port, pid } = await startGatewayProcess(backend.url);
  await latencies(port, 2_000); // compilers warm up
  const alone = await latencies(port, 2_000);
  const before = rssBytes(pid);
  let peak = before;
  const watching = setInterval(() => {
    peak = Math.max(peak, rssBytes(pid));
  }, 50);

  const file = fileURLToPath(new URL('support/pipelineFlood.ts', import.meta.url));
  const flood = spawn(process.execPath, [file, String(port), String(connections), String(behind)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void flood.kill('SIGKILL'));
  let written = false;
  flood.stdout.once('data', () => {
    written = true;
  });
  const during = await latencies(port, () => !written);
  const held = await latencies(port, 3_000);
  flood.stdin.end();
  await once(flood, 'close');
  const after = await latencies(port, 10_000);
  clearInterval(watching);

  const growth = peak - before;
  console.log(
    `soak: pipelining: worst response ${worst(alone)} ms alone, ${worst(during)} ms while it is sent, ` +
      `${worst(held)} ms while it waits, ${worst(after)} ms after it; ` +
      `RSS ${mib(before)} MiB, peak ${mib(peak)}, at the end ${mib(rssBytes(pid))}`,
  );
  expect(growth, 'growth of resident memory').toBeLessThan(256 * mebibyte);
  expect(worst([...during, ...held]), 'worst response in ms').toBeLessThan(100);
  expect(backend.connections(), 'aborted with their clients').toBeLessThan(10);
});

/** Of one client, request by request, for so many ms or as long as `going`. */
async function latencies(port: number, going: number | (() => boolean)): Promise<number[]> {
  const client = await connectTo(port);
  const until = performance.now() + (typeof going === 'number' ? going : 0);
  const times: number[] = [];
  while (typeof going === 'number' ? performance.now() < until : going()) {
    const startedAt = performance.now();
    client.send(get('/v1/x'));
    expect((await client.response('GET', 30_000)).status).toBe(200);
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
