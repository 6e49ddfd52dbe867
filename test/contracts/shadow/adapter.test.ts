import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { ResponsePair } from '../../../gateway/contracts/shadow/compare/sample.ts';
import type { ShadowSample } from '../../../gateway/contracts/shadow/sampling/shadowBatch.ts';
import { ShadowQueue } from '../../../gateway/contracts/shadow/sampling/shadowQueue.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { everything } from './shadowedGateway.ts';

const json = 'Content-Type: application/json';

/** A shadow queue of `/v1`, whose adapter takes its responses from `/v2`. Also returns the compared pairs and why copies were dropped. */
async function startQueue(v2Body: string, { mode = 'shadow', plain = '/v2/plain', hasCounterpart = false } = {}) {
  const v2 = await startBackend(answer(200, v2Body, json));
  const folder = temporaryFolder();
  const operation = { get: { responses: { 200: { description: 'ok' } } } };
  const id = { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] };
  const contractWith = (name: string, paths: object): string => {
    const document = { openapi: '3.1.0', info: { title: 'Drinks', version: '1' }, paths };
    writeFileSync(join(folder, name), JSON.stringify(document));
    return name;
  };
  const old = contractWith('v1.json', { '/drinks/{id}': { ...id, ...operation }, '/legacy': operation });
  const now = contractWith('v2.json', { '/cocktails/{id}': { ...id, ...operation } });
  const response = { 200: [{ rename: { title: 'name' } }] };
  const adapter = {
    from: '/v2',
    mode,
    routes: {
      'GET /drinks/{id}': { to: 'GET /cocktails/{id}', response },
      'GET /legacy': { gone: 'v2 has none' },
    },
  };
  const snapshot = snapshotFrom(
    {
      routes: {
        '/v1': { upstream: 'http://127.0.0.1:1', contract: old, shadow: everything, adapter },
        '/v2': { upstream: v2.url, prefix: 'forward', contract: now },
      },
    },
    folder,
  );
  const version = snapshot.versions.get('v1');
  if (!version?.shadow) throw new Error('no shadow');
  const pairs: ResponsePair[] = [];
  const dropped: string[] = [];
  const sink = {
    pair: (pair: ResponsePair) => pairs.push(pair),
    copy: () => {},
    drop: (why: string) => dropped.push(why),
  };
  const queue = new ShadowQueue(version, snapshot, version.shadow, sink);
  onTestFinished(() => queue.close());
  const add = (resource: string) =>
    queue.add({
      version: 'v1',
      key: '',
      method: 'GET',
      template: '/drinks/{id}',
      toTemplate: '/plain',
      hasCounterpart,
      resource,
      query: '?size=2',
      client: 'shop',
      fields: ['X-Shadow', '1'],
      to: { target: v2.url, host: 'api.test', path: plain, prefix: '' },
      control: undefined,
      status: 200,
      contentType: 'application/json',
      contentEncoding: undefined,
      body: Buffer.from('{"name":"a"}'),
      at: Date.now(),
    } satisfies ShadowSample);
  return { v2, add, pairs, dropped };
}

const newBodies = (pairs: readonly ResponsePair[]) =>
  pairs.map(({ new: now }) => [now?.status, Buffer.from(now?.body ?? []).toString()]);

it('compares the response of the other version after the adapter has changed it', async () => {
  const { v2, add, pairs } = await startQueue('{"title":"b","n":12345678901234567890}');
  await add('/drinks/7');
  await eventually(() => expect(pairs).toHaveLength(1));
  expect(v2.request.raw).toMatch(/^GET \/v2\/cocktails\/7\?size=2 /);
  expect(pairs[0]).toMatchObject({ kind: 'adapter', template: '/drinks/{id}', toTemplate: '/drinks/{id}' });
  expect(newBodies(pairs)).toEqual([[200, '{"name":"b","n":12345678901234567890}']]);
});

it('compares with the answer 502 if the adapter cannot change the response, and sends nothing for a route without one', async () => {
  const { v2, add, pairs, dropped } = await startQueue('not JSON');
  await add('/legacy');
  await add('/unknown');
  await add('/drinks/7');
  await eventually(() => expect(pairs).toHaveLength(1));
  expect(newBodies(pairs)).toEqual([[502, '{}']]);
  expect(dropped).toEqual(['no-counterpart', 'no-counterpart']);
  expect(v2.requests).toHaveLength(1);
});

it('compares responses as they are if the adapter is off', async () => {
  const { v2, add, pairs } = await startQueue('{"title":"b"}', { mode: 'off', hasCounterpart: true });
  await add('/drinks/7');
  await eventually(() => expect(pairs).toHaveLength(1));
  expect(v2.request.raw).toMatch(/^GET \/v2\/plain /);
  expect(pairs[0]?.kind).toBe('shadow');
  expect(newBodies(pairs)).toEqual([[200, '{"title":"b"}']]);
});

it('compares both as it is and adapted, with one copy if the paths are the same', async () => {
  const twice = await startQueue('{"title":"b"}', { hasCounterpart: true });
  await twice.add('/drinks/7');
  await eventually(() => expect(twice.pairs).toHaveLength(2));
  expect(twice.v2.requests.map(({ raw }) => raw.split(' ')[1])).toEqual(['/v2/plain', '/v2/cocktails/7?size=2']);
  const once = await startQueue('{"title":"b"}', { plain: '/v2/cocktails/7?size=2', hasCounterpart: true });
  await once.add('/drinks/7');
  await eventually(() => expect(once.pairs).toHaveLength(2));
  expect(once.v2.requests).toHaveLength(1);
  expect(once.pairs.map(({ kind, toTemplate }) => [kind, toTemplate])).toEqual([
    ['shadow', '/plain'],
    ['adapter', '/drinks/{id}'],
  ]);
  expect(newBodies(once.pairs)).toEqual([
    [200, '{"title":"b"}'],
    [200, '{"name":"b"}'],
  ]);
});
