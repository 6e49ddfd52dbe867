import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type Running, run } from '../support/process.ts';

it.each(['examples/express.ts', 'examples/http.ts', 'examples/express-proxy.ts'])(
  '%s serves versions, upgrades, and announces',
  async (file) => {
    const backend = await startBackend();
    const base = await startExample(file, backend);

    const answer = await fetch(`${base}/v1/drinks/7`, { method: 'POST', body: '{"a":1}' });
    expect([answer.status, await answer.text()]).toEqual([200, '/drinks/7 {"a":1}']);
    expect(answer.headers.get('deprecation')).toBe('@1782777600');
    expect(answer.headers.get('link')).toContain('</v2/drinks/7>; rel="successor-version"');

    const socket = new WebSocket(`${base.replace('http', 'ws')}/v1/chat`);
    const [[upgraded], [said]] = (await Promise.all([once(socket, 'upgrade'), once(socket, 'message')])) as [
      [{ headers: Record<string, string> }],
      [Buffer],
    ];
    expect(upgraded.headers['deprecation']).toBe('@1782777600');
    expect(said.toString()).toBe('hello from /chat');
    socket.close();

    expect((await fetch(`${base}/v7/x`)).status).toBe(404);
  },
);

it('in Express, the app answers requests for no version', async () => {
  const base = await startExample('examples/express.ts', await startBackend());
  const answer = await fetch(`${base}/about`);
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('own page')]);
  expect((await fetch(`${base}/nowhere`)).headers.get('content-type')).toContain('text/html');
  // The app answers the index as well.
  expect((await fetch(base)).headers.get('content-type')).toContain('text/html');
});

it('in node:http, the gateway answers everything, the index included', async () => {
  const base = await startExample('examples/http.ts', await startBackend());
  expect(await (await fetch(base)).json()).toMatchObject({ latest: 'v2' });
});

it('in an app with its own proxy, the app answers requests that it does not forward', async () => {
  const base = await startExample('examples/express-proxy.ts', await startBackend());
  expect(await (await fetch(`${base}/v2/hello`)).text()).toBe('The app answers v2 itself.');
  expect(await (await fetch(`${base}/about`)).text()).toBe('A page without a version.');
});

it.each(['examples/express.ts', 'examples/http.ts', 'examples/express-proxy.ts'])(
  '%s ends on SIGTERM',
  async (file) => {
    const { program, base } = await launchExample(file, await startBackend());
    expect((await fetch(`${base}/v1/drinks/7`)).status).toBe(200);
    const ended = once(program.child, 'exit');
    program.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
);

async function startExample(file: string, backend: string): Promise<string> {
  return (await launchExample(file, backend)).base;
}

async function launchExample(file: string, backend: string): Promise<{ program: Running; base: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'examples-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const routes = join(folder, 'routes.yaml');
  writeFileSync(
    routes,
    `routes:
  /v1: { upstream: '${backend}', deprecation: 2026-06-30, sunset: 2029-06-30 }
  /v2: ${backend}
usage: { store: ./usage.db }\n`,
  );
  const env = { PORT: '0', ROUTES: routes, V1_URL: backend, V2_URL: backend };
  const program = run(process.execPath, [file], env);
  const [, port] = await program.printed(/port: (\d+)/);
  return { program, base: `http://127.0.0.1:${port}` };
}

async function startBackend(): Promise<string> {
  const server = createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    res.end(`${req.url} ${body}`);
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, req) => socket.send(`hello from ${req.url}`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
