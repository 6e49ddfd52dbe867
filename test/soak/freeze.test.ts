import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { expect, it } from 'vitest';
import { frozenWorkers, send } from '../versions/restrictions/frozenWorkers.ts';

const knownClients = 50_000;
const rounds = 20;
const forgedNames = 100_000;

it('a freeze refuses no known client in a million requests', { timeout: 3_600_000 }, async () => {
  const { start } = await frozenWorkers(knownClients);
  const gateway = await start();
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const known = Array.from({ length: knownClients }, (_one, index) => `old-${index}`);
  const memory = async (): Promise<number[]> => (await gateway.pids()).map(memoryOf);
  expect(await send(gateway.port, known, agent)).toEqual({ 200: knownClients });
  const before = await memory();
  const flood = async (name: string): Promise<number[]> => {
    const forged = Array.from({ length: forgedNames }, (_one, index) => `${name}-${index}`);
    expect(await send(gateway.port, forged, agent)).toEqual({ 403: forgedNames });
    return memory();
  };
  const [first, second] = [await flood('forged'), await flood('again')];
  console.log(
    `soak: resident memory of the workers before, after ${forgedNames} forged names, and after as many others, MiB: ${before} → ${first} → ${second}`,
  );
  for (const [index, mib] of first.entries()) {
    expect(mib - (before[index] ?? 0)).toBeLessThan(60);
    // The caches are full after the first flood.
    expect((second[index] ?? 0) - mib).toBeLessThan(20);
  }
  for (let round = 1; round < rounds; round += 1) {
    // In one order all the time, a cache of recent names would never be of use.
    expect(await send(gateway.port, round % 2 === 0 ? known : known.toReversed(), agent)).toEqual({
      200: knownClients,
    });
  }
  agent.destroy();
});

/** The resident memory of a process, MiB. */
function memoryOf(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
}
