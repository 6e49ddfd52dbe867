import { expect, it } from 'vitest';
import type { StatusJson } from '../../../gateway/operate/admin/statusJson.ts';
import { statusAsText } from '../../../gateway/process/cli/output/statusReport.ts';
import { runIn } from '../../process/cli/io.ts';
import { startWorkers } from '../../process/runtime/startWorkers.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { expectProblem } from '../../support/problem.ts';
import { ask, get } from '../../support/rawClient.ts';
import { singleValueOf } from '../../support/response.ts';
import { adapterRoutes, servedSnapshot, writeContracts } from './servedVersion.ts';

const json = 'Content-Type: application/json';

it('two workers adapt responses, count failures together, and follow a reload', async () => {
  const backend = await startBackend(({ target }) => {
    const title = target.endsWith('/wrong') ? '7' : '"a"';
    const price = target.endsWith('/bad') ? '"free"' : '1.5';
    return answer(200, `{"title":${title},"price":${price}}`, json, 'ETag: "x"');
  });
  const routesWith = (digits: number): Readonly<Record<string, object>> => {
    const change = [
      { rename: { title: 'name' } },
      { convert: { price: `decimal_string(${digits})` } },
      { drop: 'glass' },
    ];
    const route = {
      ...adapterRoutes['GET /drinks/{id}'],
      response: { ...adapterRoutes['GET /drinks/{id}'].response, 200: change },
    };
    const adapter = { from: '/v2', mode: 'serve', routes: { ...adapterRoutes, 'GET /drinks/{id}': route } };
    return {
      '/v1': { upstream: backend.url, contract: 'v1.json', adapter },
      '/v2': { upstream: backend.url, contract: 'v2.json' },
    };
  };
  const gateway = await startWorkers(2, { '/v1': backend.url, '/v2': backend.url });
  const edit = (digits: number): void =>
    gateway.edit(routesWith(digits), { guard: { force: { '/v1': `the test has compared ${digits} decimals` } } });
  writeContracts(gateway.folder);
  edit(2);
  const drinks = async (): Promise<[string, string | undefined][]> => {
    const responses = await Promise.all(Array.from({ length: 12 }, () => ask(gateway.port, get('/v1/drinks/7'))));
    return responses.map((response) => [response.body, singleValueOf(response, 'etag')]);
  };
  const allDrinks = async (price: string): Promise<string | undefined> => {
    let tag: string | undefined;
    await eventually(async () => {
      const seen = await drinks();
      tag = seen[0]?.[1];
      expect(new Set(seen.map(([body]) => body))).toEqual(new Set([`{"name":"a","price":"${price}"}`]));
      expect(new Set(seen.map(([, one]) => one)).size).toBe(1);
    });
    return tag;
  };
  const before = await allDrinks('1.50');
  expect(before).toMatch(/^W\/"x-[0-9a-f]{12}"$/);

  const failures = await Promise.all(Array.from({ length: 8 }, () => ask(gateway.port, get('/v1/drinks/bad'))));
  expect(failures.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 502));
  await Promise.all(Array.from({ length: 4 }, () => ask(gateway.port, get('/v1/no-such-route'))));
  // The contract is checked, too: the price is valid, and the name is not.
  expect(expectProblem(await ask(gateway.port, get('/v1/drinks/wrong')), 502)).toMatchObject({ pointer: '/name' });
  const metric = 'version_gateway_adapter_failures_total{version="v1",route="GET /drinks/{id}"}';
  await eventually(async () => {
    const page = await (await fetch(`${gateway.admin}/metrics`)).text();
    expect(page).toContain(`${metric} 9`);
    expect(page).toContain('version_gateway_problems_total{version="v1",code="ROUTE_NOT_ADAPTED"} 4');
  });
  const fetched = async (path: string): Promise<unknown> => (await fetch(gateway.admin + path)).json();
  const status = (await fetched('/api/status')) as StatusJson;
  const [v1, v2] = status.versions;
  expect(v1?.adapter).toMatchObject({
    from: 'v2',
    mode: 'serve',
    failures: [{ route: 'GET /drinks/{id}', count: 9, pointer: '/name' }],
    not_adapted: 4,
  });
  expect(v2?.adapter).toBeNull();
  const lines = statusAsText(status, Date.now(), (_colour, words) => words);
  expect(lines).toContain(
    '/v1 is served by an adapter from /v2\n  9 responses of GET /drinks/{id} could not be adapted since the adapter was loaded: /name',
  );
  expect(lines).toContain('\n  4 requests to routes that the adapter does not serve since it was loaded: 410');

  edit(1);
  expect(await allDrinks('1.5')).not.toBe(before);
});

it('an adapted version needs no upstream, is listed without one, and gets one back', async () => {
  const held = Promise.withResolvers<void>();
  const drink = answer(200, '{"name":"own","price":"1"}', json);
  const own = await startBackend(({ target }) =>
    target.endsWith('/slow') ? [{ wait: held.promise }, { write: drink }] : drink,
  );
  const other = await startBackend(() => answer(200, '{"title":"adapted","price":1}', json));
  // A busy machine must not cut the slow request off before it is released.
  const gateway = await startWorkers(1, { '/v1': own.url, '/v2': other.url }, { gateway: { drain: '60s' } });
  writeContracts(gateway.folder);
  const v2 = { upstream: other.url, contract: 'v2.json' };
  const adapter = { from: '/v2', mode: 'serve', routes: adapterRoutes };
  const becomes = async (v1: object, name: string): Promise<void> => {
    gateway.edit({ '/v1': { contract: 'v1.json', ...v1 }, '/v2': v2 }, { guard: { force: { '/v1': name } } });
    await eventually(async () => expect((await ask(gateway.port, get('/v1/drinks/7'))).body).toContain(name));
  };
  const cli = (...args: string[]) => runIn(gateway.folder, args);
  const admin = ['--admin', new URL(gateway.admin).host];
  const slow = ask(gateway.port, get('/v1/drinks/slow'));
  await eventually(() => expect(own.requests).toHaveLength(1));
  await becomes({ adapter }, 'adapted');

  expect((await cli('check')).stdout).toMatch(/\n {2}\/v1 +active +adapter from \/v2 .*\n {2}\/v2 +active +1 target/);
  const served = { version: '/v1', targets: 0, served_from: '/v2' };
  expect(JSON.parse((await cli('check', '--format', 'json')).stdout).versions).toContainEqual(
    expect.objectContaining(served),
  );
  const waiting = cli('status', '--wait', '/v1', ...admin);
  held.resolve();
  expect((await slow).body).toContain('own');
  const words =
    '/v1 is served by an adapter from /v2, 0 requests in flight to its own backend, safe to stop the backend';
  expect(await waiting).toMatchObject({ code: 0, stdout: `${words}\n` });
  expect((await ask(gateway.port, get('/'))).status).toBe(200);

  await becomes({ upstream: own.url }, 'own');
  await becomes({ adapter }, 'adapted');
});

it.each(['off', 'shadow'])('with adapter.mode %s, a version needs an upstream', (mode) => {
  const settings = { version: { upstream: undefined }, adapter: { mode } };
  expect(() => servedSnapshot('http://127.0.0.1:1', settings)).toThrow('/v1 has no upstream.');
});
