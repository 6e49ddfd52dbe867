import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { StatusEvents } from '../../../../gateway/operate/admin/dashboard/routes.ts';
import { sessionLifetimeMs } from '../../../../gateway/operate/admin/dashboard/sessions.ts';
import { eventually } from '../../../support/eventually.ts';
import { serve } from '../../discovery/server.ts';
import { start, startRemoteAdmin } from '../remoteAdmin.ts';

describe('the events', () => {
  it('send the access, the status and each change of it', async () => {
    const { open, cookie, state } = await startRemoteAdmin();
    const stream = await open('GET', '/api/events', { cookie: await cookie() });
    let heard = '';
    stream.setEncoding('utf8').on('data', (piece: string) => {
      heard += piece;
    });
    await eventually(() =>
      expect(heard).toMatch(/^event: access\ndata: session\n\nevent: status\ndata: \{.*"generation":1/),
    );
    expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    state.generation = 2;
    await eventually(() => expect(heard).toContain('"generation":2'));
    await eventually(() => expect(heard).toMatch(/\n: nothing new\n\n/));
    expect(heard.match(/event: status/g)?.length).toBe(2);
    stream.destroy();
  });

  it('do not repeat a status that differs only in the times of the heartbeats of a fleet', async () => {
    let polls = 0;
    let spooled = 0;
    const events = new StatusEvents({
      status: async () => {
        polls += 1;
        return { fleet: { now: `${polls}`, gateways: [{ heard: `${polls}`, clock_skew_ms: polls, spooled }] } };
      },
      ready: () => true,
      accessOf: () => 'session',
      clock: { now: () => start },
    });
    const { port } = await serve(express().get('/', events.handle));
    const outgoing = request({ port, host: '127.0.0.1' });
    outgoing.end();
    const [stream] = await once(outgoing, 'response');
    let heard = '';
    stream.setEncoding('utf8').on('data', (piece: string) => {
      heard += piece;
    });
    await eventually(() => expect(heard).toMatch(/\n: nothing new\n\n/));
    expect(heard.match(/event: status/g)).toHaveLength(1);
    expect(heard).toContain('"heard":"1"');
    spooled = 1;
    await eventually(() => expect(heard).toMatch(/"heard":"\d+","clock_skew_ms":\d+,"spooled":1/));
    stream.destroy();
  });

  it.each([
    ['drains', { ready: false }],
    ['ends the session of the reader', { now: start + sessionLifetimeMs }],
  ])('end when the gateway %s', async (_name, change) => {
    const { open, cookie, state } = await startRemoteAdmin();
    const stream = await open('GET', '/api/events', { cookie: await cookie() });
    Object.assign(state, change);
    expect(await text(stream)).toContain('event: status');
  });

  it('are refused while draining, to other sites, and above the limit', async () => {
    const { open, ask, cookie, state } = await startRemoteAdmin();
    const headers = { cookie: await cookie() };
    expect((await ask('GET', '/api/events', { ...headers, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    state.ready = false;
    expect((await ask('GET', '/api/events', headers)).status).toBe(503);
    state.ready = true;
    const streams = await Promise.all(Array.from({ length: 32 }, () => open('GET', '/api/events', headers)));
    const { status, headers: answered } = await ask('GET', '/api/events', headers);
    expect([status, answered['retry-after']]).toEqual([503, '5']);
    streams[0].destroy();
    await expect
      .poll(async () => {
        const next = await open('GET', '/api/events', headers);
        next.destroy();
        return next.statusCode;
      })
      .toBe(200);
    for (const stream of streams) stream.destroy();
  });
});
