import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { startWorkers } from './startWorkers.ts';

const clients = 500;
const versions = ['v1', 'v2', 'v3'];

/** Sends `total` requests of 500 clients to three versions of two workers, which are reloaded and restarted meanwhile. */
export async function countExactly(total: number): Promise<void> {
  const url = await startService();
  const { gateway, store } = await startCounted(url);
  const sent = new Map<string, number>();
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  let next = 0;
  const loops = Array.from({ length: 32 }, async () => {
    while (next < total) {
      const number = next++;
      // Coprime strides: every client calls every version, with different frequency.
      const client = `client-${(number * 7 + (number % 11)) % clients}`;
      const version = versions[number % 3] as string;
      const key = `${version} x-client-id:${client}`;
      sent.set(key, (sent.get(key) ?? 0) + 1);
      await ask(gateway.port, `/${version}/things/${number}`, client, agent);
      if (number === Math.floor(total / 4)) {
        gateway.edit({ '/v1': { upstream: url, deprecation: '2026-01-01' }, '/v2': url, '/v3': url });
        await gateway.printed(/active → deprecated/);
      }
      if (number === Math.floor(total / 2)) gateway.child.kill('SIGUSR2');
    }
  });
  await Promise.all(loops);
  await gateway.printed(/rolling restart done/);
  agent.destroy();
  const exit = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);

  const counted = new Map<string, number>();
  const ledger = LedgerReader.open(store);
  for (const version of versions) {
    for (const { client, requests } of await ledger.byClient(version, 0)) counted.set(`${version} ${client}`, requests);
  }
  ledger.close();
  expect(counted.size).toBe(clients * versions.length);
  expect([...counted].filter(([key, requests]) => sent.get(key) !== requests)).toEqual([]);
  expect([...counted.values()].reduce((sum, requests) => sum + requests, 0)).toBe(total);
}

export async function startCounted(url: string) {
  const routes = { '/v1': url, '/v2': url, '/v3': url };
  const gateway = await startWorkers(2, routes, { log: { access: 'off' } });
  return { gateway, store: join(gateway.folder, 'usage.db') };
}

export async function startService(): Promise<string> {
  const server = createServer((_req, res) => res.end('ok')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function ask(port: number, path: string, client: string, agent: Agent): Promise<void> {
  const headers = { 'x-client-id': client };
  const outgoing = request({ port, host: '127.0.0.1', path, agent, headers }).end();
  const [response] = await once(outgoing, 'response');
  expect(response.statusCode).toBe(200);
  response.resume();
  await once(response, 'end');
}
