import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { rssBytes } from '../../bench/support/proc.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { startGateway } from './support/gateway.ts';
import { startPlainBackend } from './support/plainBackend.ts';

const mebibyte = 2 ** 20;

/** An OpenAPI document in YAML of `size` bytes. Another `edition` has other paths. */
function contract(size: number, edition: number): string {
  const parts = [`openapi: 3.1.0\ninfo: { title: edition ${edition}, version: "1" }\npaths:\n`];
  for (let length = 0, index = 0; length < size; index += 1) {
    const part = `  /area${index % 97}/things${index}-${edition}/{id}:
    get:
      operationId: get${index}
      summary: Returns one of the things of the area
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
      responses:
        "200":
          description: OK
          content:
            application/json:
              schema:
                type: object
                properties:
                  id: { type: string }
                  name: { type: string, description: The name of the thing }
`;
    parts.push(part);
    length += part.length;
  }
  return parts.join('');
}

/** Sends a request every few milliseconds until `isOver`. Returns the longest response time in ms. */
async function slowestResponse(port: number, isOver: () => boolean): Promise<number> {
  let longest = 0;
  while (!isOver()) {
    const startedAt = performance.now();
    await new Promise<void>((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', path: '/v1/x' }, (res) => res.resume().on('end', resolve));
      sent.on('error', reject).end();
    });
    longest = Math.max(longest, performance.now() - startedAt);
    await sleep(2);
  }
  return longest;
}

it.each([1, 2])(
  'with %i processes, a reload of 8 MiB of contracts delays no request',
  {
    timeout: 300_000,
  },
  async (workers) => {
    const upstream = await startPlainBackend('0');
    const folder = temporaryFolder();
    const files = [join(folder, 'v1.yaml'), join(folder, 'v2.yaml')] as const;
    const write = (edition: number, size = 4 * mebibyte): void => {
      for (const file of files) writeFileSync(file, contract(size, edition));
    };
    const routes = (info: number): string =>
      JSON.stringify({
        gateway: { workers },
        routes: {
          '/v1': { upstream, contract: files[0], deprecation: '2026-01-01', info: `https://api.test/${info}` },
          '/v2': { upstream, contract: files[1] },
        },
      });
    write(0, 1000);
    const gateway = await startGateway(routes(0), { heapMiB: 2048 });
    const slowest: Record<string, number> = {};
    const measure = async (name: string, reload: () => Promise<string>): Promise<void> => {
      let isOver = false;
      const longest = slowestResponse(gateway.port, () => isOver);
      const startedAt = performance.now();
      expect(await reload()).toBe('reloaded');
      const took = performance.now() - startedAt;
      await sleep(500);
      isOver = true;
      slowest[name] = await longest;
      console.log(
        `soak: ${workers} processes, ${name}: ${took.toFixed(0)} ms, slowest response ${slowest[name].toFixed(1)} ms`,
      );
    };
    const sizes: number[] = [];
    for (const edition of [1, 2, 3]) {
      write(edition);
      await measure(`edition ${edition} of both contracts`, () => gateway.reload(routes(0)));
      await measure(`edit ${edition} of routes.yaml`, () => gateway.reload(routes(edition)));
      // V8 keeps the memory of an ended thread until a full collection. Over several reloads it must not add up.
      sizes.push(rssBytes(gateway.pid) / mebibyte);
    }
    const [first = 0, , last = 0] = sizes;
    console.log(`soak: ${workers} processes, memory ${sizes.map((size) => size.toFixed(0)).join(', ')} MiB`);
    for (const [name, ms] of Object.entries(slowest)) expect(ms, name).toBeLessThan(50);
    expect(last - first, 'growth of memory in MiB').toBeLessThan(200);
  },
);
