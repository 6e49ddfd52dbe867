import { expect, it } from 'vitest';
import { readStatus, statusAsText } from '../../gateway/cli/output/statusReport.ts';
import { startWorkers } from '../runtime/startWorkers.ts';
import { answer, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, get } from '../support/rawClient.ts';
import { singleValueOf } from '../support/response.ts';
import { adapterRoutes, writeContracts } from './servedVersion.ts';

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
  // The contract is checked, too: the price is right, and the name is none.
  expect(expectProblem(await ask(gateway.port, get('/v1/drinks/wrong')), 502)).toMatchObject({ pointer: '/name' });
  const metric = 'version_gateway_adapter_failures_total{version="v1",route="GET /drinks/{id}"}';
  await eventually(async () => {
    const page = await (await fetch(`${gateway.admin}/metrics`)).text();
    expect(page).toContain(`${metric} 9`);
  });
  const fetched = async (path: string): Promise<unknown> => (await fetch(gateway.admin + path)).json();
  const status = await readStatus({ get: fetched } as Parameters<typeof readStatus>[0], 'the gateway');
  const [v1, v2] = status.versions;
  expect(v1?.adapter).toMatchObject({
    from: 'v2',
    mode: 'serve',
    failures: [{ route: 'GET /drinks/{id}', count: 9, pointer: '/name' }],
  });
  expect(v2?.adapter).toBeNull();
  const lines = statusAsText(status, Date.now(), (_colour, words) => words);
  expect(lines).toContain(
    '/v1 is served by an adapter from /v2\n  9 responses of GET /drinks/{id} could not be adapted: /name',
  );

  edit(1);
  expect(await allDrinks('1.5')).not.toBe(before);
});
