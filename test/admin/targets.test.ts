import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { mergeReports } from '../../gateway/observability/report.ts';
import { refusedUrl, startTestGateway } from '../support/gateway.ts';
import { ask, get } from '../support/rawClient.ts';

interface Status {
  readonly versions: readonly {
    readonly targets: readonly { readonly last_error: string | null; readonly last_error_at: string | null }[];
  }[];
}

async function lastErrorOf(upstream: string, requests: number) {
  const { port, adminPort } = await startTestGateway({ '/v1': upstream });
  for (let count = 0; count < requests; count += 1) await ask(port, get('/v1/x'));
  const response = await fetch(`http://127.0.0.1:${adminPort}/api/status`);
  const { versions } = (await response.json()) as Status;
  return versions[0]?.targets[0];
}

/** Handles every connection that sends data with this function. */
async function rude(treat: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => {}).once('data', () => treat(socket)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

it('a target without requests has no error', async () => {
  expect(await lastErrorOf(await refusedUrl(), 0)).toMatchObject({ last_error: null, last_error_at: null });
});

it.each([
  ['refuses connections', () => refusedUrl(), /ECONNREFUSED/],
  ['resets them', () => rude((socket) => socket.resetAndDestroy()), /ECONNRESET/],
  ['closes them', () => rude((socket) => socket.end()), /closed/],
  ['breaks HTTP', () => rude((socket) => socket.end('nonsense\r\n\r\n')), /\w/],
])('the status shows when a target %s', async (_what, url, expected) => {
  const start = Date.now();
  const target = await lastErrorOf(await url(), 1);
  expect(target?.last_error).toMatch(expected);
  expect(Date.parse(target?.last_error_at ?? '')).toBeGreaterThanOrEqual(start);
});

it('the status shows the newest error of several processes', () => {
  const target = { url: 'a', inFlight: 0, connections: 0, reachable: true, health: 'healthy', ejectedUntil: undefined };
  const of = (...errors: (number | undefined)[]) =>
    mergeReports(
      errors.map((at) => {
        const lastError = at === undefined ? undefined : { message: `at ${at}`, at };
        const targets = [{ ...target, health: 'healthy' as const, lastError }];
        return { versions: [{ name: 'v1', inFlight: 0, waiting: 0, lastInFlight: undefined, targets }], workers: [] };
      }),
    ).versions[0]?.targets[0]?.lastError;
  expect(of(1, 3, undefined, 2)).toEqual({ message: 'at 3', at: 3 });
  expect(of(undefined, 1)).toEqual({ message: 'at 1', at: 1 });
  expect(of(undefined, undefined)).toBeUndefined();
});
