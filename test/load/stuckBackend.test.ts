import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { sendWithoutReading, startGatewayProcess, startLoadedBackend } from './support.ts';

const upload = `POST /v1/stuck HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(10_000)}`;
const download = 'GET /v1/stuck HTTP/1.1\r\nHost: a\r\n\r\n';

it('answers other clients while 700 uploads and 700 GETs wait for the backend', async () => {
  let stuck = 0;
  const backend = await startLoadedBackend((req, res) => {
    if (req.url === '/stuck') stuck++;
    else res.end('ok');
  });
  // Longer than a busy machine takes to connect all clients.
  const { port } = await startGatewayProcess(backend.url, { timeouts: { connect: '60s', first_byte: '120s' } });
  const requests = Array.from({ length: 1_400 }, (_, number) => (number % 2 ? upload : download));
  const clients = await Promise.all(requests.map((request) => sendWithoutReading(port, request)));
  await eventually(() => expect(stuck).toBe(requests.length));

  for (let number = 0; number < 20; number++)
    expect(await (await fetch(`http://127.0.0.1:${port}/v1/ok`)).text()).toBe('ok');
  expect(clients.filter((client) => client.closed)).toEqual([]);
  for (const client of clients) client.destroy();
});
