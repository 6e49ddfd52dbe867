import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CompiledAdapter, type CompiledRoute } from '../../../gateway/contracts/adapters/serving/compiledAdapter.ts';
import { adaptResponse } from '../../../gateway/contracts/adapters/serving/exchangeOutsidePipeline.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { loadFixture, object, printed, type Schema } from './fixtures.ts';

// What the specification leaves open to others: extensions, and types that no reader knows.

const text = { type: 'string' };
const extension = { 'x-team': 'bar', 'x-number': 4 };

/** `GET /drinks`, with extensions wherever OpenAPI allows them. */
function contract(path: string, schema: Schema, type = 'integer'): string {
  const extended = { ...schema, ...extension };
  const ok = { description: '', content: { 'application/json': { schema: extended, ...extension } }, ...extension };
  // An extension of the responses is no response, whatever it looks like.
  const looksLikeOne = { description: '', content: { 'application/json': { schema: { type } } } };
  const responses = { '200': ok, 'x-draft': looksLikeOne, 'x-list': [1] };
  const get = { responses, ...extension };
  const paths = { [path]: { get, ...extension }, 'x-paths': { get: 'no operation' } };
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'd', version: '1', ...extension }, paths, ...extension });
}

const load = (v1: Schema, v2: Schema, operations: readonly Schema[], samples?: number) => {
  const adapter = { from: '/v2', routes: { 'GET /drinks': { to: 'GET /cocktails', response: { 200: operations } } } };
  const routes = {
    '/v1': { upstream: 'http://127.0.0.1:3001', contract: 'v1.yaml', adapter },
    '/v2': { upstream: 'http://127.0.0.1:3002', contract: 'v2.yaml' },
  };
  const contracts = { v1: contract('/drinks', v1), v2: contract('/cocktails', v2) };
  return loadFixture({ routes: JSON.stringify({ routes }), ...contracts }, samples);
};

const rename = [{ rename: { title: 'name' } }];

/** What clients of v1 get for a body of v2, or a pointer to the refused value. */
async function adapted(loading: ReturnType<typeof load>, body: string): Promise<string> {
  const result = await loading;
  expect(printed(result)).toBe('');
  const settings = result.snapshot?.versions.get('v1')?.adapter;
  if (!settings) throw new Error('there is no adapter');
  const adapter = new CompiledAdapter({ settings, hash: '', templates: [] });
  const route = adapter.find('GET', '/drinks') as CompiledRoute;
  const message = { status: 200, contentType: 'application/json', body: Buffer.from(body) };
  const response = adaptResponse(adapter, route, message);
  return Buffer.isBuffer(response) ? response.toString() : `#${response.pointer}`;
}

it('extensions of a contract add no response, and change no adapter', async () => {
  const loading = load(object({ name: text }), object({ title: text }), rename);
  expect(await adapted(loading, '{"title":"Mojito","x-team":"bar"}')).toBe('{"name":"Mojito","x-team":"bar"}');
});

it.each([
  '{"title":"Mojito","price":"4 EUR"}',
  '{"title":"Mojito","price":{"cents":400}}',
  '{"title":"Mojito","price":4}',
])('a value of a type that nobody knows is passed on as it is: %s', async (body) => {
  const price = { type: 'money' };
  const loading = load(object({ name: text, price }), object({ title: text, price }), rename);
  const expected = { price: JSON.parse(body).price, name: 'Mojito' };
  expect(JSON.parse(await adapted(loading, body))).toEqual(expected);
});

it('the draft of an adapter has nothing about extensions', async () => {
  const folder = temporaryFolder();
  const routes = {
    '/v1': { upstream: 'http://127.0.0.1:3001', contract: 'v1.yaml' },
    '/v2': { upstream: 'http://127.0.0.1:3002', contract: 'v2.yaml' },
  };
  writeFileSync(join(folder, 'routes.yaml'), JSON.stringify({ routes }));
  writeFileSync(join(folder, 'v1.yaml'), contract('/drinks', object({ name: text }), 'number'));
  writeFileSync(join(folder, 'v2.yaml'), contract('/drinks', object({ name: text }), 'string'));
  const { stdout } = await runIn(folder, ['adapter', '/v1', '/v2']);
  expect(stdout).toContain('GET /drinks');
  expect(stdout).not.toMatch(/x-/i);
});
