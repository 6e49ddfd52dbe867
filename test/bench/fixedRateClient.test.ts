import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const client = fileURLToPath(new URL('../../bench/support/fixedRateClient.ts', import.meta.url));

it('waits for the last responses even if earlier ones are errors', async () => {
  let received = 0;
  const server = createServer((_req, res) => {
    received += 1;
    const isError = received <= 60;
    setTimeout(() => res.writeHead(isError ? 404 : 200, { 'Content-Length': 0 }).end(), isError ? 0 : 300);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { stdout } = await promisify(execFile)(process.execPath, [client, url, '200', '0.5']);
    expect(JSON.parse(stdout)).toMatchObject({ requests: 100, errors: 60 });
  } finally {
    server.close();
  }
});
