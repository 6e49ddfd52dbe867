import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openFiles, rssBytes } from '../../bench/support/proc.ts';
import { startGateway } from './support/gateway.ts';
import { generationOf } from './support/generations.ts';
import { startLoad } from './support/load.ts';
import { startPlainBackend } from './support/plainBackend.ts';

const mebibyte = 2 ** 20;

function routes(generation: number, targets: readonly [string, string]): string {
  const target = targets[generation % 2];
  // The target and its weight change with the generation.
  const upstream = [target, [{ url: target, weight: 2 }], [target], [{ url: target, weight: 3 }]][generation % 4];
  const v3 = [target, { upstream: target, deprecation: '2020-01-01' }, { retired: true }, undefined][generation % 4];
  return JSON.stringify({
    guard: { quiet: 'off', notice: 'off', force: { '/v3': `generation ${generation}` } },
    routes: {
      '/v1': { ...generationOf(generation), upstream },
      '/v2': targets[0],
      ...(v3 && { '/v3': v3 }),
    },
  });
}

it('500 reloads under load fail no request, mix no configurations in a response and leak no memory or files', {
  timeout: 180_000,
}, async () => {
  const targets = [await startPlainBackend('0'), await startPlainBackend('1')] as const;
  const gateway = await startGateway(routes(0, targets));
  const stop = await startLoad(gateway.port, 32);
  let generation = 0;
  const reloads = async (count: number): Promise<void> => {
    for (const last = generation + count; generation < last; ) {
      generation += 1;
      expect(await gateway.reload(routes(generation, targets))).toMatch(/reloaded|unchanged/);
      await sleep(50);
    }
    await sleep(1_000);
  };
  await reloads(50);
  const [rss, files] = [rssBytes(gateway.pid), openFiles(gateway.pid)];
  await reloads(450);
  const grown = [rssBytes(gateway.pid) - rss, openFiles(gateway.pid) - files] as const;
  const seen = await stop();

  const rate = Math.round(seen.served / seen.seconds);
  console.log(
    `soak: ${generation} reloads at ${rate} requests/s, ${seen.generations} configurations seen, ` +
      `memory ${(rss / mebibyte).toFixed(1)} MiB, then ${(grown[0] / mebibyte).toFixed(1)} MiB more, files ${files}, then ${grown[1]} more`,
  );
  expect(seen.wrong).toEqual([]);
  expect(seen.generations).toBeGreaterThan(400);
  expect(grown[0], 'growth of resident memory in bytes').toBeLessThanOrEqual(10 * mebibyte);
  expect(Math.abs(grown[1]), 'change of open files').toBeLessThanOrEqual(5);
});
