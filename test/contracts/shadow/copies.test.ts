import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { deepRef, deepSchemas } from '../../contract/schema/deepSchemas.ts';
import { type Answer, answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { freeUrl } from '../../support/gateway.ts';
import { ask, connectTo, get, message, post } from '../../support/rawClient.ts';
import { servedSnapshot } from '../adapters/servedVersion.ts';
import { jsonResponse } from './pairs.ts';
import { compared, droppedFor, everything, startShadowed } from './shadowedGateway.ts';

const identify = { identify: ['header:x-client-id', 'user-agent', 'address'] };
const secret = [
  'Authorization: Bearer s3cr3t-9',
  'Cookie: a=1',
  'X-Api-Key: k3y-93771',
  'X-Client-Id: shop',
  'User-Agent: shop/1',
];

it('sends a copy to the path of `moved`, without the fields that identify the client and without conditions', async () => {
  const gateway = await startShadowed({
    v1: { moved: { '/drinks/{id}': '/cocktails/{id}' } },
    usage: identify,
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', trusted_proxies: ['loopback'] },
  });
  const address = ['X-Forwarded-For: 192.0.2.7', 'X-Real-IP: 192.0.2.7', 'Forwarded: for=192.0.2.7'];
  const conditional = ['If-None-Match: "a"', 'If-Modified-Since: x', 'Range: bytes=0-1', 'If-Range: "a"'];
  const others = ['Accept-Language: de', 'Referer: http://a/?token=1', 'Accept-Encoding: gzip'];
  await ask(gateway.port, get('/v1/drinks/7?size=2', ...secret, ...conditional, ...address, ...others));
  await eventually(() => expect(gateway.v2.requests).toHaveLength(1));
  const { raw } = gateway.v2.request;
  expect(raw.split('\r\n')[0]).toBe('GET /cocktails/7?size=2 HTTP/1.1');
  for (const line of ['X-Shadow: 1', 'Accept-Language: de', 'Accept-Encoding: identity', 'Host: api.test'])
    expect(raw).toContain(`\r\n${line}\r\n`);
  expect(raw).toMatch(/^X-Forwarded-Prefix: \/v2\r$/m);
  expect(raw).not.toMatch(
    /^(?:authorization|cookie|x-api-key|x-client-id|if-|range|referer|x-forwarded-for|forwarded)/im,
  );
  expect(raw).not.toMatch(/shop|192\.0\.2|s3cr3t-9|k3y-93771/);
  await eventually(async () => expect(await compared(gateway)).toBe(1));
  // The request of the client is unchanged.
  expect(gateway.v1.request.raw).toMatch(/Bearer s3cr3t-9[\s\S]*If-None-Match/);
});

it('sends copies again after its thread has ended', async () => {
  const workers: Worker[] = [];
  const onWorker = (message: unknown): unknown => workers.push((message as { worker: Worker }).worker);
  subscribe('worker_threads', onWorker);
  onTestFinished(() => void unsubscribe('worker_threads', onWorker));
  const gateway = await startShadowed();
  await ask(gateway.port, get('/v1/a'));
  await eventually(async () => expect(await compared(gateway)).toBe(1));
  await workers.at(-1)?.terminate();
  await ask(gateway.port, get('/v1/a'));
  await eventually(async () => expect(await compared(gateway)).toBe(2));
  expect(gateway.notices).toContainEqual(
    expect.stringMatching(/^shadow: the thread that sends copies ended: exit code \d\. {2}A new one is started\.$/),
  );
  expect(workers).toHaveLength(2);
});

it('sends the request to the same version again as a control', async () => {
  const gateway = await startShadowed({ shadow: { control: '100%' }, v1: { prefix: 'forward' } });
  await ask(gateway.port, get('/v1/a?b=1', 'Authorization: Bearer s3cr3t-9'));
  await eventually(async () => expect([await compared(gateway), await compared(gateway, 'control')]).toEqual([1, 1]));
  const [original, control] = gateway.v1.requests.map(({ raw }) => raw);
  expect(original).toMatch(/^GET \/v1\/a\?b=1 [\s\S]*Bearer s3cr3t-9/);
  expect(control).toMatch(/^GET \/v1\/a\?b=1 [\s\S]*X-Shadow: 1/);
  expect(control).not.toContain('s3cr3t-9');
});

it('never copies other methods, GETs with a body, denied routes, copies, and requests of other versions', async () => {
  const deny = ['HEAD /export/{name}', 'GET /export/{id}', 'HEAD /export/all', 'GET /drinks:export'];
  const gateway = await startShadowed({ shadow: { routes: { deny } } });
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'GET'])
    await ask(gateway.port, post('/v1/a', 'body').replace('POST', method), method);
  // A backend may decode the path.
  for (const path of ['/v1/export/7', '/v1/export/all', '/v1/%65xp%6Frt/7', '/v1/drinks%3aexport'])
    await ask(gateway.port, get(path));
  // A backend may ignore a final slash, the case, repeated slashes and parameters of a segment.
  for (const path of ['/v1/export/7/', '/v1/Export/7', '/v1/export//7', '/v1/export;a=1/7;b', '/v1/%45xport/7/'])
    await ask(gateway.port, get(path));
  await ask(gateway.port, message('HEAD /v1/export/7 HTTP/1.1', 'Host: a'));
  await ask(gateway.port, get('/v1/a', 'x-shadow: 1'));
  await ask(gateway.port, get('/v2/a'));
  // A copy of an earlier request would have been sent before this one.
  await ask(gateway.port, get('/v1/last'));
  await eventually(async () => expect(await compared(gateway)).toBe(1));
  expect(gateway.v1.requests).toHaveLength(18);
  const copies = gateway.v2.requests.filter(({ raw }) => /^X-Shadow: 1\r$/m.test(raw));
  expect(copies.map(({ raw }) => raw.split(' ', 2).join(' '))).toEqual(['GET /last']);
});

it('sends nothing to a version that an adapter serves, because its targets are those of another version', async () => {
  const ok = answer(200, '{"name":"a","price":"3"}', 'Content-Type: application/json');
  const [v0, own, source] = [await startBackend(ok), await startBackend(ok), await startBackend(ok)];
  const { sortedVersions, ...rest } = servedSnapshot(source.url, { version: { upstream: own.url } });
  const routes = { '/v0': { upstream: v0.url, shadow: { ...everything, to: '/v1' } }, '/v1': own.url };
  const [shadowed] = snapshotFrom({ routes }).sortedVersions;
  const shadow = shadowed?.shadow && { ...shadowed.shadow, to: 'v0' };
  const all = [shadowed, ...sortedVersions.map((one) => (one.name === 'v2' ? { ...one, shadow } : one))];
  const versions = new Map(all.flatMap((one) => (one ? [[one.name, one] as const] : [])));
  const running = await startGateway({ ...rest, sortedVersions: [...versions.values()], versions });
  onTestFinished(() => running.close());
  await ask(running.port, get('/v0/drinks/7'));
  await ask(running.port, get('/v2/cocktails/7'));
  // A copy of the first request would have been sent before that of the second one.
  await eventually(() => expect(v0.requests).toHaveLength(2));
  expect([own, source].map(({ requests }) => requests.length)).toEqual([0, 1]);
});

it('copies a HEAD as a HEAD', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n';
  const gateway = await startShadowed({ v1Answer: head, v2Answer: head });
  await ask(gateway.port, message('HEAD /v1/a HTTP/1.1', 'Host: a'));
  await eventually(async () => expect(await compared(gateway)).toBe(1));
  expect(gateway.v2.request.raw).toMatch(/^HEAD \/a /);
});

const json = 'Content-Type: application/json';
const chunkedAnswer = (body: string): string =>
  `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const gzipped = (body: string): Buffer => {
  const bytes = gzipSync(body);
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\n${json}\r\nContent-Encoding: gzip\r\nContent-Length: ${bytes.length}\r\n\r\n`),
    bytes,
  ]);
};

/** Answers by the last segment of the path. */
function byPath(answers: Readonly<Record<string, Answer>>): Answer {
  return ({ raw }) => answers[/^\S+ \S*\/([\w-]*)[ ?]/.exec(raw)?.[1] ?? ''] ?? answer(200, '{}', json);
}

const tooLarge = {
  length: answer(200, 'a'.repeat(1025)),
  chunked: chunkedAnswer('a'.repeat(1025)),
  decoded: gzipped('a'.repeat(100_000)),
};
const badCodings = {
  unknown: answer(200, '{}', json, 'Content-Encoding: x-own'),
  broken: answer(200, '{}', json, 'Content-Encoding: gzip'),
};

it('sends no copy if the response of the version cannot be compared', async () => {
  const unusable = {
    stream: 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: 1\n\n',
    error: answer(500, '{}', json),
    part: answer(206, '{}', json),
    ...tooLarge,
    ...badCodings,
  };
  const gateway = await startShadowed({ shadow: { body: '1KiB' }, v1Answer: byPath(unusable) });
  for (const path of Object.keys(unusable)) await ask(gateway.port, get(`/v1/${path}`));
  await droppedFor(gateway, { stream: 1, status: 2, body: 3, coding: 2 });
  expect(gateway.v2.requests).toEqual([]);
});

it('compares bodies of any length up to the limit, in any known coding', async () => {
  const comparable = {
    largest: answer(200, 'a'.repeat(1024)),
    chunked: chunkedAnswer('{"a":1}'),
    gzip: gzipped('{"a":1}'),
    empty: 'HTTP/1.1 204 No Content\r\n\r\n',
  };
  const answers = byPath(comparable);
  const gateway = await startShadowed({ shadow: { body: '1KiB' }, v1Answer: answers, v2Answer: answers });
  for (const path of Object.keys(comparable)) await ask(gateway.port, get(`/v1/${path}`));
  await eventually(async () => expect(await compared(gateway)).toBe(4));
});

it('counts what became of copies without a comparable response', async () => {
  const answers = {
    ...tooLarge,
    ...badCodings,
    truncated: [{ write: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}' }, { end: true }] as const,
    overloaded: answer(503, '{}', json),
    reset: [{ reset: true }] as const,
  };
  const gateway = await startShadowed({ shadow: { body: '1KiB', timeout: '1m' }, v2Answer: byPath(answers) });
  for (const path of Object.keys(answers)) await ask(gateway.port, get(`/v1/${path}`));
  const shadow = { body: 3, coding: 2, failed: 3 };
  await eventually(async () => expect((await gateway.shadow())?.copies).toEqual({ shadow }));
});

it('drops a copy that cannot be compared, because its schemas are nested too deeply', async () => {
  const contract = join(temporaryFolder(), 'v1.json');
  const paths = { '/a': { get: { responses: { 200: jsonResponse(deepRef) } } } };
  const info = { title: 'Drinks', version: '1' };
  writeFileSync(contract, JSON.stringify({ openapi: '3.1.0', info, paths, components: { schemas: deepSchemas() } }));
  const gateway = await startShadowed({ v1: { contract } });
  await ask(gateway.port, get('/v1/a'));
  await droppedFor(gateway, { defect: 1 });
});

it('sends nothing for a client that leaves before its response is complete', async () => {
  const released = Promise.withResolvers<void>();
  const half = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab';
  const gateway = await startShadowed({ v1Answer: [{ write: half }, { wait: released.promise }, { write: 'cd' }] });
  const client = await connectTo(gateway.port);
  client.send(get('/v1/a'));
  await eventually(() => expect(client.pending).toContain('ab'));
  expect(gateway.v2.requests).toEqual([]);
  client.reset();
  await droppedFor(gateway, { incomplete: 1 });
  released.resolve();
  expect(gateway.v2.requests).toEqual([]);
});

it('sends the copy only after the client has its whole response', async () => {
  const released = Promise.withResolvers<void>();
  const half = `HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 4\r\n\r\n[1`;
  const gateway = await startShadowed({ v1Answer: [{ write: half }, { wait: released.promise }, { write: '2]' }] });
  const client = await connectTo(gateway.port);
  client.send(get('/v1/a'));
  await eventually(() => expect(client.pending).toContain('[1'));
  expect(gateway.v2.requests).toEqual([]);
  released.resolve();
  expect((await client.response()).body).toBe('[12]');
  await eventually(async () => expect(await compared(gateway)).toBe(1));
});

it('sends no copy to a target that is unhealthy', async () => {
  const dead = await freeUrl();
  const gateway = await startShadowed({
    v2: { upstream: dead, health: { path: '/health', interval: '20ms', unhealthy_after: 1 } },
  });
  await eventually(async () => {
    const status = (await (await fetch(`${gateway.admin}/api/status`)).json()) as {
      versions: { targets: { health: string }[] }[];
    };
    expect(status.versions[1]?.targets[0]?.health).toBe('failing');
  });
  await ask(gateway.port, get('/v1/a'));
  await droppedFor(gateway, { unhealthy: 1 });
});

it('follows reloads: new settings apply, and without a shadow nothing is sampled', async () => {
  const gateway = await startShadowed({ shadow: { routes: { deny: ['GET /a'] } } });
  await gateway.edit({ routes: { deny: ['GET /b'] } });
  await ask(gateway.port, get('/v1/b'));
  await ask(gateway.port, get('/v1/a'));
  await eventually(() => expect(gateway.v2.requests.map(({ raw }) => raw.split(' ')[1])).toEqual(['/a']));
  await gateway.edit(undefined);
  expect(await gateway.shadow()).toBeUndefined();
  await ask(gateway.port, get('/v1/a'));
  await gateway.edit({ ...everything, sample: '99.9999%' });
  await eventually(async () => {
    await ask(gateway.port, get('/v1/c'));
    expect(gateway.v2.requests.at(-1)?.raw).toMatch(/^GET \/c /);
  });
  const others = gateway.v2.requests.filter(({ raw }) => !raw.startsWith('GET /c '));
  expect(others.map(({ raw }) => raw.split(' ')[1])).toEqual(['/a']);
});

it('compares a response during which a reload has changed nothing of the shadow', async () => {
  const released = Promise.withResolvers<void>();
  const half = `HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 4\r\n\r\n[1`;
  const gateway = await startShadowed({ v1Answer: [{ write: half }, { wait: released.promise }, { write: '2]' }] });
  const client = await connectTo(gateway.port);
  client.send(get('/v1/a'));
  await eventually(() => expect(client.pending).toContain('[1'));
  await gateway.edit({}, { log: { address: 'none' } });
  released.resolve();
  await client.response();
  await eventually(async () => expect(await compared(gateway)).toBe(1));
  expect((await gateway.shadow())?.dropped).toEqual({});
});

it('refuses to stop a shadow that does not exist', async () => {
  const gateway = await startShadowed({ shadow: undefined });
  await gateway.edit(undefined);
  const stop = await fetch(`${gateway.admin}/api/shadow/stop`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"version":"v1"}',
  });
  expect(stop.status).toBe(409);
  expect(await stop.json()).toMatchObject({ code: 'NO_SHADOW', detail: '/v1 has no shadow.' });
});
