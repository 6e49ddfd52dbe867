import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../bench/support/children.ts';
import { adapterRoutes, writeContracts } from '../contracts/adapters/servedVersion.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from './support/gateway.ts';

const count = 1_000;
const mebibyte = 2 ** 20;
// The bodies take 64 MiB, and 128 MiB at most if they are larger than expected. Each exists twice while it is changed, and stays
// until the garbage collector frees it. Without a limit the bodies alone would be 1,000 MiB.
const maxMiB = 600;

it('1,000 adapted responses of 1 MiB, whose clients do not read them, take a limited amount of memory', async () => {
  const body = `{"title":"${'a'.repeat(mebibyte - 40)}","price":1}`;
  const backend = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      const requests = data.toString('latin1').split('\r\n\r\n').length - 1;
      for (let one = 0; one < requests; one += 1) {
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
      }
    });
  });
  backend.listen(0, '127.0.0.1', 4096);
  await once(backend, 'listening');
  onTestFinished(() => void backend.close());
  const upstream = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
  const folder = temporaryFolder();
  writeContracts(folder);
  const adapter = { from: '/v2', mode: 'serve', body: '2MiB', routes: adapterRoutes };
  const contractOf = (name: string): string => join(folder, name);
  const routes = {
    '/v1': { upstream, contract: contractOf('v1.json'), adapter, limits: { queue: 'off' } },
    '/v2': { upstream, contract: contractOf('v2.json') },
  };
  const guard = { force: { '/v1': 'the test has compared both versions' } };
  const gateway = await startGateway(JSON.stringify({ routes, guard }), { heapMiB: 256 });
  const before = residentMiB(gateway.pid);

  const statuses = new Map<string, number>();
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let number = 0; number < count; number += 1) {
    const socket = connect({ port: gateway.port, host: '127.0.0.1' });
    sockets.push(socket);
    socket.on('error', () => {});
    // The first bytes only: the rest of the response stays in the gateway and in the kernel.
    socket.once('readable', () => {
      const status = String(socket.read(12)).slice(9, 12);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    });
    socket.write('GET /v1/drinks/7 HTTP/1.1\r\nHost: a\r\n\r\n');
    if (number % 50 === 0) await sleep(20);
  }
  let most = 0;
  await eventually(() => {
    most = Math.max(most, residentMiB(gateway.pid));
    expect([...statuses.values()].reduce((sum, one) => sum + one, 0)).toBe(count);
  });
  console.log(`soak: adapted bodies: ${before} MiB before, ${most} MiB at most; ${JSON.stringify([...statuses])}`);
  expect(statuses.get('200')).toBeGreaterThan(20);
  expect(statuses.get('503')).toBeGreaterThan(0);
  expect(most).toBeLessThan(maxMiB);

  // The memory is free again after the clients have left.
  for (const socket of sockets) socket.destroy();
  await eventually(async () => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/drinks/7`);
    expect(response.status).toBe(200);
    expect((await response.arrayBuffer()).byteLength).toBe(body.length + 4);
  });
});

function residentMiB(pid: number): number {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kibibytes) / 1024);
}
