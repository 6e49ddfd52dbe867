import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tryConnections } from './support/insideContainer.ts';
import { countByStatus, type Load, startLoad } from './support/load.ts';
import { type Stack, skipped, useStack, waitForOk, waitUntil } from './support/stack.ts';

// In each round the containers of both versions are stopped.
const rounds = Number(process.env['ADDRESS_ROUNDS'] ?? 6);

// Answers every request with 200, and prints one line for each piece of data that it gets.
const otherContainer = (port: number): string => `
  require('node:net').createServer((socket) => socket.on('error', () => {}).on('data', (data) => {
    console.log(data.toString().split('\\r\\n').filter((line) => /HTTP|authorization/i.test(line)).join(' ') || 'data');
    socket.end('HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 5\\r\\nConnection: close\\r\\n\\r\\nother');
  })).listen(${port}, '0.0.0.0', () => console.log('ready'));`;

const versions = [
  { service: 'v1', port: 3001, path: '/v1/drinks/7' },
  { service: 'v2', port: 3002, path: '/v2/cocktails/7' },
] as const;

describe.skipIf(skipped)('the address of a stopped container', () => {
  // Only a network with a configured subnet lets a container choose its address.
  const override = () => join(stack.project.folder, 'docker-compose.override.yml');
  if (!skipped) {
    beforeAll(() => {
      const subnet = `10.${200 + (process.pid % 50)}.${process.pid % 250}.0/24`;
      writeFileSync(override(), `networks: { backends: { ipam: { config: [{ subnet: ${subnet} }] } } }\n`);
    });
    afterAll(() => rmSync(override(), { force: true }));
  }
  const stack = useStack();

  it('gets no request while another container has it', async () => {
    const { docker } = stack.compose;
    const network = stack.compose.network('backends');
    const victims = await Promise.all(versions.map((version) => startVictim(stack, version)));
    const ids = victims.map(({ id }) => id);
    const startedAt = performance.now();
    for (let round = 0; round < rounds; round += 1) {
      const format = `{{(index .NetworkSettings.Networks "${network}").IPAddress}}`;
      const addresses = (await docker('inspect', ...ids, '-f', format)).trim().split('\n');
      await docker(...(round % 2 === 0 ? ['stop', '--time', '10'] : ['kill']), ...ids);
      await Promise.all(
        victims.map(({ other }, index) => docker('network', 'connect', '--ip', addresses[index] ?? '', network, other)),
      );
      if (round === 0) {
        const others = versions.map(({ port }, index) => `${addresses[index]}:${port}`);
        expect(await tryConnections(stack.compose, 'gateway', others)).toEqual(['connected', 'connected']);
      }
      const since = Date.now();
      await Promise.all(victims.map(({ load }) => answersSince(load, since)));
      await docker('start', ...ids);
      await Promise.all(versions.map(({ path }) => waitForOk(`${stack.url}${path}`)));
      await Promise.all(victims.map(({ other }) => docker('network', 'disconnect', network, other)));
    }
    const seconds = (performance.now() - startedAt) / 1000;
    for (const { service, other, load } of victims) {
      const responses = await load.stop();
      const received = (await docker('logs', other)).split('\n').filter((line) => line !== '' && line !== 'ready');
      const statuses = countByStatus(responses);
      console.log(
        `${service} stopped ${rounds} times in ${seconds.toFixed(0)} s: ${JSON.stringify(statuses)}; the other container got ${received.length} requests`,
      );
      expect(received).toEqual([]);
      expect(responses.filter(({ status, type }) => status === 200 && !type.includes('json'))).toEqual([]);
      // 503 and 504: no host has the address for a moment, and a request was sent before the gateway could know.
      expect(Object.keys(statuses).filter((status) => !/^(200|502|503|504)$/.test(status))).toEqual([]);
      expect(statuses['200']).toBeGreaterThan(rounds);
      expect(statuses['502']).toBeGreaterThan(rounds);
    }
  });
});

/** Starts clients of a version, and the container that gets its address while it is stopped. */
async function startVictim({ compose, url }: Stack, { service, port, path }: (typeof versions)[number]) {
  const { docker } = compose;
  const [id = ''] = await compose.containers(service);
  const image = (await docker('inspect', id, '-f', '{{.Image}}')).trim();
  // In another network first, so that it listens before it gets the address.
  const options = ['--detach', '--no-healthcheck', '--network', compose.network('edge'), '--entrypoint', 'node'];
  const other = (await docker('run', ...options, image, '-e', otherContainer(port))).trim();
  const load = startLoad(`${url}${path}`, 'caller', 2, { authorization: 'Bearer s3cret' });
  onTestFinished(async () => {
    await load.stop();
    await docker('rm', '--force', '--volumes', other);
  });
  await waitUntil(async () => (await docker('logs', other)).includes('ready'), 'the other container');
  return { service, id, other, load };
}

/** Waits until several requests that were sent after `at` are answered, none of them by a backend. */
async function answersSince({ responses }: Load, at: number): Promise<void> {
  const later = () => responses.slice(-50).filter((response) => response.at > at);
  await waitUntil(async () => later().length >= 6, 'responses without the backend');
  expect(later().filter(({ status }) => status === 200)).toEqual([]);
}
