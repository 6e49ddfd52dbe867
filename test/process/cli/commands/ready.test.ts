import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { refusedUrl, startTestGateway } from '../../../support/gateway.ts';
import { runIn } from '../io.ts';

/** An admin listener that answers with `status`, or never. */
async function answering(status: number | undefined, body = ''): Promise<string> {
  const server = createServer((_req, res) => {
    if (status !== undefined) res.writeHead(status).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each([
  [503, '{"ready":false,"reason":"/v1 is \\u001bremoved."}', 'not ready: /v1 is \\x1bremoved.\n'],
  [503, '', 'not ready: it answers 503\n'],
  [503, '{"ready":false}', 'not ready: it answers 503\n'],
  [404, '', 'answers 404'],
])('a gateway that answers %i %s is not ready', async (status, body, reason) => {
  const { code, stderr } = await runIn('.', ['ready', '--admin', await answering(status, body)]);
  expect([code, stderr]).toEqual([1, expect.stringContaining(reason)]);
});

it('a gateway that does not answer is not ready: exit code 1, because Docker reserves 2', async () => {
  const { code, stderr } = await runIn('.', ['ready', '--admin', (await refusedUrl()).replace('http://', '')]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
});

it('a gateway that answers later than --timeout is not ready', async () => {
  const { code, stderr } = await runIn('.', ['ready', '--admin', await answering(undefined), '--timeout', '100ms']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('no answer within 0.1 s')]);
});

it('a running gateway is ready, without a token', async () => {
  const { adminPort } = await startTestGateway({ '/v1': 'http://127.0.0.1:1' }, { gateway: { admin_token: 'secret' } });
  const { code, stdout } = await runIn('.', ['ready', '--admin', `127.0.0.1:${adminPort}`]);
  expect([code, stdout]).toEqual([0, 'ready\n']);
});
