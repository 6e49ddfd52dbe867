import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { OutgoingHttpHeaders, RequestListener } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { temporaryFolder } from './config/temporary.ts';
import { host, usageIn } from './support/embeddedServer.ts';
import { eventually } from './support/eventually.ts';
import { announced, expressHost, lifecycleOf, rawAnswer, routes } from './support/lifecycleHost.ts';

/** Answers 500 after node:http has rejected the value of a field. */
const afterInvalidHead =
  (headers: OutgoingHttpHeaders | string[]): RequestListener =>
  (_req, res) => {
    expect(() => res.writeHead(200, headers)).toThrow('Invalid character');
    res.writeHead(500).end();
  };

const flushed: RequestListener = (_req, res) => {
  res.flushHeaders();
  res.end('ok');
};

describe('in Express', () => {
  it.each<[string, number, RequestListener]>([
    ['an ordinary answer', 200, (_req, res) => res.end('ok')],
    ['an answer whose head is flushed first', 200, flushed],
    ['a head with an object', 201, (_req, res) => res.writeHead(201, { 'X-A': 'b' }).end()],
    ['a head with a reason and pairs', 202, (_req, res) => res.writeHead(202, 'Fine', ['X-A', 'b']).end()],
    ['an empty answer', 204, (_req, res) => res.writeHead(204).end()],
    ['a redirect', 302, (_req, res) => res.writeHead(302, { location: '/v2' }).end()],
    ['a 304', 304, (_req, res) => res.writeHead(304).end()],
    [
      'an error of the app',
      500,
      () => {
        throw new Error('broken');
      },
    ],
  ])('announces on %s', async (_what, status, answer) => {
    const { url } = await expressHost((app) => void app.get('/v1/drinks/:id', answer));
    const answered = await rawAnswer(`${url}/v1/drinks/7?x=1`);
    expect(answered.status).toBe(status);
    for (const [name, value] of Object.entries(announced)) expect(answered.lines(name)).toEqual([value]);
    if (status === 201 || status === 202) expect(answered.lines('x-a')).toEqual(['b']);
  });

  it.each<[string, RequestListener]>([
    ['an object', afterInvalidHead({ 'X-A': 'a\nb' })],
    ['pairs', afterInvalidHead(['X-A', 'a\nb'])],
  ])('announces on an error after an invalid head with %s', async (_what, answer) => {
    const lifecycle = lifecycleOf();
    const { url } = await host((req, res) => lifecycle(req, res, () => answer(req, res)));
    const answered = await rawAnswer(`${url}/v1/drinks/7`);
    expect(answered.status).toBe(500);
    for (const [name, value] of Object.entries(announced)) expect(answered.lines(name)).toEqual([value]);
  });

  it('announces on a 404 of the app and on HEAD', async () => {
    const { url } = await expressHost(() => {});
    for (const method of ['GET', 'HEAD', 'POST']) {
      const { status, headers } = await fetch(`${url}/v1/drinks/7`, { method });
      expect([status, headers.get('deprecation'), headers.get('link')]).toEqual([404, '@1782777600', announced.link]);
      expect(headers.get('content-type')).toContain('text/html');
    }
  });

  it('merges with fields of the app like the gateway does with fields of a backend', async () => {
    const fields = {
      Deprecation: '@1',
      Sunset: ['Fri, 01 Jan 2027 00:00:00 GMT', 'x'],
      Link: ['</a>; rel="next"', '</b>; rel="prev"'],
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': 'X-Page, Link',
      'Set-Cookie': ['a=1', 'b=2'],
    };
    const { url } = await expressHost((app) => {
      app.get('/v1/set', (_req, res) => void res.set(fields).send('set'));
      app.get('/v1/raw', (_req, res) => {
        res.removeHeader('x-powered-by');
        res.writeHead(
          200,
          Object.entries(fields).flatMap(([name, value]) => [value].flat().flatMap((one) => [name, one])),
        );
        res.end('raw');
      });
      app.get('/v2/set', (_req, res) => void res.set(fields).send('set'));
    });
    for (const path of ['set', 'raw']) {
      const { lines } = await rawAnswer(`${url}/v1/${path}`);
      expect(lines('deprecation')).toEqual(['@1782777600']);
      expect(lines('sunset')).toEqual([announced.sunset]);
      expect(lines('link')).toEqual([...fields.Link, `</v2/${path}>; rel="successor-version"`]);
      expect(lines('access-control-expose-headers')).toEqual(['X-Page, Link, Deprecation, Sunset']);
      expect(lines('set-cookie')).toEqual(['a=1', 'b=2']);
    }
    const { lines } = await rawAnswer(`${url}/v2/set`);
    expect([lines('deprecation'), lines('link')]).toEqual([['@1'], fields.Link]);
  });

  it('answers 404 for an unknown version and 410 for a retired one, and passes other requests to the app', async () => {
    const { url } = await expressHost((app) => void app.use((_req, res) => void res.send('app')));
    const unknown = await fetch(`${url}/v9/a`);
    expect([unknown.status, unknown.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
    expect(await unknown.json()).toMatchObject({ code: 'UNKNOWN_VERSION', versions: [{}, { version: 'v1' }, {}] });
    const retired = await fetch(`${url}/v0/a`, { method: 'POST', body: 'x'.repeat(100_000) });
    expect(await retired.json()).toMatchObject({ code: 'VERSION_RETIRED', successor: '/v1' });
    for (const path of ['/', '/about', '/v1x', '/vines', '/.well-known/api-catalog', '//v1', '/a%zz']) {
      const answer = await fetch(url + path);
      const isVersion = path === '/v1x';
      expect([path, answer.status, answer.headers.get('deprecation')]).toEqual([path, isVersion ? 404 : 200, null]);
    }
  });

  it('lets the app decide which origins may read the 404 and the 410', async () => {
    const app = express();
    const lifecycle = lifecycleOf();
    app.use((_req, res, next) => {
      res.set({ 'Access-Control-Allow-Origin': 'https://shop.example', 'Access-Control-Expose-Headers': 'X-Page' });
      next();
    }, lifecycle);
    const { url } = await host(app);
    const { lines } = await rawAnswer(`${url}/v0/a`, { origin: 'https://shop.example' });
    expect(lines('access-control-allow-origin')).toEqual(['https://shop.example']);
    expect(lines('access-control-expose-headers')).toEqual(['X-Page', 'Deprecation, Sunset, Link']);
  });

  it('matches an unusual path by its first segment and never rejects it', async () => {
    const { url } = await expressHost((app) => void app.use((_req, res) => void res.send('app')));
    const { port } = new URL(url);
    for (const [path, status] of [
      ['/v1/a/../b', 200],
      ['/v1//x', 200],
      ['/v0/../v2', 410],
    ] as const) {
      const socket = connect(Number(port), '127.0.0.1').end(
        `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      );
      const answer = await text(socket);
      expect(answer).toContain(`HTTP/1.1 ${status}`);
      if (status === 200) expect(answer).toContain('Deprecation: @1782777600');
    }
  });

  it('sees the path as the client sent it, wherever it is mounted', async () => {
    const lifecycle = lifecycleOf({ routes, gateway: { base_path: '/api' } });
    const app = express();
    app.use('/api', lifecycle, (_req, res) => void res.send('app'));
    const { url } = await host(app);
    const answer = await fetch(`${url}/api/v1/drinks/7`);
    expect(answer.headers.get('link')).toBe('</api/v2/cocktails/7>; rel="successor-version"');
    expect((await fetch(`${url}/api/v0/x`)).status).toBe(410);
  });

  it('ignores an upstream', async () => {
    const backend = await host(() => expect.unreachable('nothing is forwarded'));
    const config = { routes: { '/v1': { upstream: backend.url }, '/v2': backend.url } };
    const { url } = await expressHost((app) => void app.use((_req, res) => void res.send('app')), lifecycleOf(config));
    expect(await (await fetch(`${url}/v1/a`)).text()).toBe('app');
  });
});

it('works in node:http', async () => {
  const lifecycle = lifecycleOf();
  const { url } = await host((req, res) => lifecycle(req, res, () => res.end('mine')));
  const answer = await fetch(`${url}/v1/drinks/7`);
  expect([await answer.text(), answer.headers.get('link')]).toEqual(['mine', announced.link]);
  expect((await fetch(`${url}/v0`)).status).toBe(410);
  expect(await (await fetch(`${url}/x`)).text()).toBe('mine');
});

it('counts served, refused and open requests by client and route', async () => {
  const folder = temporaryFolder();
  const usage = { store: join(folder, 'usage.db'), identify: ['header:x-client'] };
  const lifecycle = lifecycleOf({ routes, usage }, { ledger: true });
  const { server, url } = await expressHost((app) => {
    app.get('/v1/drinks/:id', (_req, res) => void res.send('ok'));
  }, lifecycle);
  const sockets = new WebSocketServer({ noServer: true });
  server.on(
    'upgrade',
    lifecycle.upgrade((req, socket, head) => sockets.handleUpgrade(req, socket, head, () => {})),
  );
  const headers = { 'x-client': 'shop' };
  for (const path of ['/v1/drinks/7', '/v1/drinks/7', '/v1/none', '/v0/a', '/about'])
    await (await fetch(url + path, { headers })).text();
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/chat`, { headers });
  await once(socket, 'open');
  socket.close();
  await once(socket, 'close');
  await eventually(() => expect(sockets.clients.size).toBe(0));
  await lifecycle.close();
  expect(await usageIn(folder, '/v1', 'client')).toEqual([
    expect.objectContaining({ client: 'x-client:shop', requests: 4, errors: 1 }),
  ]);
  expect(await usageIn(folder, '/v0', 'client')).toEqual([expect.objectContaining({ requests: 1, errors: 1 })]);
  expect((await usageIn(folder, '/v1', 'route')).map(({ route, requests }) => [route, requests])).toContainEqual([
    'GET /drinks/{}',
    2,
  ]);
});

it('counts a stream while it is open', async () => {
  const folder = temporaryFolder();
  const lifecycle = lifecycleOf({ routes, usage: { store: join(folder, 'usage.db') } }, { ledger: true });
  const { url } = await expressHost((app) => {
    app.get('/v1/events', (_req, res) => void res.type('text/event-stream').write('data: 1\n\n'));
  }, lifecycle);
  const stream = await fetch(`${url}/v1/events`);
  // Open requests are written as well; the stream ends with the server.
  await lifecycle.close();
  expect(await usageIn(folder, '/v1', 'client')).toEqual([expect.objectContaining({ requests: 1, errors: 0 })]);
  await stream.body?.cancel();
});

it('with `reload: true` a version can be retired without a restart', async () => {
  const file = join(temporaryFolder(), 'routes.yaml');
  const write = (v1: string, more = '') =>
    writeFileSync(file, `routes:\n  /v1: { deprecation: 2026-01-01, sunset: 2026-06-30${v1} }\n  /v2: {}\n${more}`);
  write('');
  const { url } = await expressHost(
    (app) => void app.use((_req, res) => void res.send('app')),
    lifecycleOf(file, { reload: true }),
  );
  expect((await fetch(`${url}/v1/a`)).headers.get('sunset')).toBe('Tue, 30 Jun 2026 00:00:00 GMT');
  write(', retired: true', 'guard: { force: { /v1: everybody has moved } }');
  await eventually(async () => expect((await fetch(`${url}/v1/a`)).status).toBe(410));
});
