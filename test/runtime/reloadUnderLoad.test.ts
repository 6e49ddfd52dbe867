import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, get as httpGet } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadSnapshot } from '../../gateway/config/load.ts';
import { startGateway } from '../../gateway/runtime/gateway.ts';
import { eventually } from '../support/eventually.ts';

it('50 reloads under load fail no request of an unchanged version', async () => {
  const backend = createServer((_req, res) => res.end('v2')).listen(0, '127.0.0.1');
  await once(backend, 'listening');
  const upstream = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
  const folder = mkdtempSync(join(tmpdir(), 'reload-load-'));
  const file = join(folder, 'routes.yaml');
  const edit = (v1: string): void =>
    writeFileSync(
      file,
      `gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' }\nroutes: { /v2: '${upstream}', /v1: ${v1} }\n`,
    );
  edit(`'${upstream}'`);
  const gateway = await startGateway(loadSnapshot(file), { load: () => loadSnapshot(file) });
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  onTestFinished(async () => {
    agent.destroy();
    await gateway.close();
    backend.closeAllConnections();
    backend.close();
    rmSync(folder, { recursive: true, maxRetries: 10 });
  });

  let over = false;
  let served = 0;
  const wrong: unknown[] = [];
  const ask = (): Promise<void> =>
    new Promise((resolve) => {
      const options = { port: gateway.port, host: '127.0.0.1', path: '/v2/x', agent };
      httpGet(options, (res) => {
        if (res.statusCode === 200) served += 1;
        else wrong.push(res.statusCode);
        res.resume().on('end', resolve);
      }).on('error', (error) => {
        wrong.push(error);
        resolve();
      });
    });
  const clients = Array.from({ length: 32 }, async () => {
    while (!over) await ask();
  });
  const edits = [
    `{ upstream: '${upstream}', deprecation: 2026-01-01 }`,
    `{ upstream: ['${upstream}', 'http://127.0.0.1:1'], deprecation: 2026-01-01 }`,
    `{ upstream: '${upstream}', deprecation: 2026-01-01, sunset: 2099-01-01 }`,
    `{ upstream: '${upstream}', prefix: forward }`,
    `'http://127.0.0.1:1'`,
  ];
  for (let round = 0; round < 50; round += 1) {
    edit(edits[round % edits.length] ?? '');
    expect((await gateway.reload('file')).kind).toBe('reloaded');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  // On a busy machine the reloads may end before the clients have sent requests.
  await eventually(() => expect(served).toBeGreaterThan(500));
  over = true;
  await Promise.all(clients);
  expect(wrong).toEqual([]);
});
