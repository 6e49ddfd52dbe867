import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { sendWithoutReading, startGatewayProcess, startLoadedBackend } from '../load/support.ts';
import { eventually } from '../support/eventually.ts';

const stuckOfEachKind = 700;
const upload = `POST /v1/stuck HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(10_000)}`;
const download = 'GET /v1/stuck HTTP/1.1\r\nHost: a\r\n\r\n';

// Retried, because a pause of the machine can also exceed the limit.
it('answers other clients within 100 ms while 700 uploads and 700 GETs wait for the backend', {
  retry: 2,
  timeout: 20_000,
}, async () => {
  let stuck = 0;
  const backend = await startLoadedBackend((req, res) => {
    if (req.url === '/stuck') stuck++;
    else res.end('ok');
  });
  const { port } = await startGatewayProcess(backend.url);
  await slowestGet(port); // compilers warm up

  const requests = Array.from({ length: 2 * stuckOfEachKind }, (_, number) => (number % 2 ? upload : download));
  const clients = await Promise.all(requests.map((request) => sendWithoutReading(port, request)));
  await eventually(() => expect(stuck).toBe(requests.length));

  expect(await slowestGet(port), 'the slowest GET in ms').toBeLessThan(100);
  expect(clients.filter((client) => client.closed)).toEqual([]);
  for (const client of clients) client.destroy();
});

/** The slowest of 400 GETs in ms: two at a time, one on a keep-alive connection and one on a new connection. */
async function slowestGet(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  const sendRequests = async (connection: Agent | false): Promise<void> => {
    for (let number = 0; number < 200; number++) {
      const startedAt = performance.now();
      const sent = get({ port, path: '/v1/ok', agent: connection });
      const [response]: IncomingMessage[] = await once(sent, 'response');
      expect(response?.statusCode).toBe(200);
      await response?.toArray();
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all([sendRequests(agent), sendRequests(false)]);
  agent.destroy();
  return Math.max(...times);
}
