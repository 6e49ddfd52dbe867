import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { host } from './support/embeddedServer.ts';
import { eventually } from './support/eventually.ts';
import { refusedUrl } from './support/gateway.ts';
import { announced, expressHost, lifecycleOf, rawAnswer } from './support/lifecycleHost.ts';

/** A server with the middleware and, behind it, a proxy to v1, for requests and upgrades. */
async function proxied(target: string, lifecycle = lifecycleOf()): Promise<string> {
  const proxy = createProxyMiddleware({ target, pathFilter: '/v1/**', pathRewrite: { '^/v1': '' } });
  const { server, url } = await expressHost((app) => void app.use(proxy), lifecycle);
  server.on('upgrade', lifecycle.upgrade(proxy.upgrade));
  return url;
}

it('announces on responses of the backend, streams included', async () => {
  const backend = await host((req, res) => {
    if (req.url !== '/events') return res.writeHead(418, { Link: '</x>; rel="next"' }).end(req.url);
    res.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
    return req.on('close', () => res.end());
  });
  const url = await proxied(backend.url);
  const { status, lines, body } = await rawAnswer(`${url}/v1/drinks/7`);
  expect([status, body, lines('deprecation')]).toEqual([418, '/drinks/7', ['@1782777600']]);
  expect(lines('link')).toEqual(['</x>; rel="next"', announced.link]);

  const stream = await fetch(`${url}/v1/events`);
  expect(stream.headers.get('deprecation')).toBe('@1782777600');
  const reader = stream.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n');
  await reader?.cancel();
});

it('announces on the error response for an unreachable backend', async () => {
  const url = await proxied(await refusedUrl());
  const answer = await fetch(`${url}/v1/drinks/7`);
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect([answer.headers.get('deprecation'), answer.headers.get('link')]).toEqual(['@1782777600', announced.link]);
});

it('announces on a 101, keeps the connection, and refuses retired or unknown versions', async () => {
  const backend = await host((_req, res) => res.end());
  new WebSocketServer({ server: backend.server }).on('connection', (socket, req) => {
    socket.send(`hello from ${req.url}`);
    socket.on('message', (data) => socket.send(`echo ${data}`));
  });
  const ws = (await proxied(backend.url)).replace('http', 'ws');
  const socket = new WebSocket(`${ws}/v1/chat`);
  const messages: string[] = [];
  socket.on('message', (data) => messages.push(String(data)));
  const [[upgraded]] = (await Promise.all([once(socket, 'upgrade'), once(socket, 'open')])) as [[IncomingMessage], []];
  expect(upgraded.headers).toMatchObject({ deprecation: '@1782777600', link: '</v2/chat>; rel="successor-version"' });
  socket.send('x'.repeat(70_000));
  await eventually(() => expect(messages).toEqual(['hello from /chat', `echo ${'x'.repeat(70_000)}`]));
  socket.close();

  for (const [path, status] of [
    ['/v0/chat', 410],
    ['/v9/chat', 404],
  ] as const) {
    const refused = new WebSocket(ws + path);
    refused.on('error', () => {});
    const [, response] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage];
    expect([response.statusCode, response.headers['content-type']]).toEqual([status, 'application/problem+json']);
    refused.terminate();
  }
});

it('announces on another response to an upgrade', async () => {
  const backend = await host((_req, res) => res.writeHead(403, { Link: '</x>; rel="next"' }).end('no'));
  const url = (await proxied(backend.url)).replace('http', 'ws');
  const socket = new WebSocket(`${url}/v1/drinks/7`);
  socket.on('error', () => {});
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  expect([response.statusCode, response.headers['deprecation']]).toEqual([403, '@1782777600']);
  expect(response.headers['link']).toBe(`</x>; rel="next", ${announced.link}`);
  socket.terminate();
});

it('survives an upgrade to an unreachable backend', async () => {
  const url = (await proxied(await refusedUrl())).replace('http', 'ws');
  const socket = new WebSocket(`${url}/v1/chat`);
  await once(socket, 'error');
});
