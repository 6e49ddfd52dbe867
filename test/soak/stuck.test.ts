import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { say, startGatewayProcess, startLoadedBackend } from '../load/support.ts';
import { eventually } from '../support/eventually.ts';

const stuckOfEachKind = 700;
const upload = `POST /v1/stuck HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(10_000)}`;
const download = 'GET /v1/stuck HTTP/1.1\r\nHost: a\r\n\r\n';

// Again, because one pause of the machine is not the gateway's.
it('answers everybody else within 100 ms while 700 uploads and 700 GETs are stuck', {
  retry: 2,
  timeout: 20_000,
}, async () => {
  let stuck = 0;
  const backend = await startLoadedBackend((req, res) => {
    if (req.url === '/stuck') stuck++;
    else res.end('ok');
  });
  const { port } = await startGatewayProcess(backend.url);
  await worstGet(port); // compilers warm up

  const requests = Array.from({ length: 2 * stuckOfEachKind }, (_, number) => (number % 2 ? upload : download));
  const clients = await Promise.all(requests.map((request) => say(port, request)));
  await eventually(() => expect(stuck).toBe(requests.length), 10_000);

  expect(await worstGet(port), 'the slowest GET in ms').toBeLessThan(100);
  expect(clients.filter((client) => client.closed)).toEqual([]);
  for (const client of clients) client.destroy();
});

/** Of 400, two at a time: one on a kept connection, one on a fresh one. */
async function worstGet(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  const drive = async (connection: Agent | false): Promise<void> => {
    for (let number = 0; number < 200; number++) {
      const startedAt = performance.now();
      const sent = get({ port, path: '/v1/ok', agent: connection });
      const [answer]: IncomingMessage[] = await once(sent, 'response');
      expect(answer?.statusCode).toBe(200);
      await answer?.toArray();
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all([drive(agent), drive(false)]);
  agent.destroy();
  return Math.max(...times);
}
