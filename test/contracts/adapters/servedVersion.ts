import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { PreparedAdapter, PreparedRoute } from '../../../gateway/config/adapterSettings.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { checkCodeOf } from '../../../gateway/contract/schema/validator.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { type Answer, type Backend, startBackend } from '../../support/backend.ts';
import { fastLane } from '../../support/gateway.ts';

const item = {
  type: 'object',
  required: ['name', 'price'],
  properties: { name: { type: 'string' }, price: { type: 'string' } },
};

const tagForms = new Map([['query tag', { separator: '&', type: 'text' }]] as const);

const schemas = {
  drink: item,
  drinks: { type: 'object', required: ['drinks'], properties: { drinks: { type: 'array', items: item } } },
  error: { type: 'object', required: ['message'], properties: { message: { type: 'string' } } },
};

/** `GET /drinks/{id}` of v1, from `GET /cocktails/{cocktail}` of v2; see `adapterRoutes`. */
export const prepared: PreparedAdapter = {
  hash: 'abcdef012345',
  checks: checkCodeOf(schemas, {}),
  routes: new Map([
    ['GET /drinks/{id}', responsesOf({ '200': 'drink', default: 'error' })],
    ['GET /drinks', { ...responsesOf({ '200': 'drinks' }), parameters: { own: tagForms, other: tagForms } }],
    ['POST /drinks', responsesOf({ '201': 'drink', '422': 'error' })],
    ['GET /export', responsesOf({})],
  ]),
  otherTypes: new Map(),
};

function responsesOf(byStatus: Readonly<Record<string, string>>): PreparedRoute {
  const rows = Object.entries(byStatus).map(
    ([status, name]) => [status, new Map([['application/json', name]])] as const,
  );
  return { responses: new Map(rows), parameters: { own: new Map(), other: new Map() } };
}

const fromCocktail = [{ rename: { title: 'name' } }, { convert: { price: 'decimal_string(2)' } }, { drop: 'glass' }];

const tagsOf = (...values: string[]): object => ({
  name: 'tag',
  in: 'query',
  schema: { type: 'array', items: { type: 'string', enum: values } },
});
const tagsByNumber = { each: { tag: [{ map: { '': { new: '1', old: '2' } } }] } };

export const adapterRoutes = {
  'GET /drinks/{id}': {
    to: 'GET /cocktails/{cocktail}',
    request: { path: [{ rename: { id: 'cocktail' } }] },
    response: { 200: fromCocktail, default: [{ rename: { detail: 'message' } }] },
  },
  'GET /drinks': {
    to: 'GET /cocktails',
    request: { query: [{ rename: { from: 'offset' } }, { default: { limit: '5' } }, tagsByNumber] },
    response: { 200: [{ rename: { cocktails: 'drinks' } }, { each: { drinks: fromCocktail } }] },
  },
  'POST /drinks': {
    to: 'POST /cocktails',
    request: { body: [{ rename: { name: 'title' } }, { default: { glass: 'none' } }] },
    response: { 201: fromCocktail, 422: [{ rename: { detail: 'message' } }] },
  },
  'GET /export': { to: 'GET /export' },
  'GET /search': { gone: 'v2 has no search' },
};

export interface Served {
  readonly port: number;
  readonly adminPort: number;
  readonly backend: Backend;
}

export interface ServedSettings {
  readonly gateway?: Readonly<Record<string, unknown>>;
  /** More settings of `/v1`. */
  readonly version?: Readonly<Record<string, unknown>>;
  readonly adapter?: Readonly<Record<string, unknown>>;
  /** More settings of `/v2`. */
  readonly source?: Readonly<Record<string, unknown>>;
  /** More versions. */
  readonly routes?: Readonly<Record<string, unknown>>;
}

/** A gateway whose `/v1` is served from the backend of `/v2`, which answers with `script`. */
export async function startServed(script: Answer, settings: ServedSettings = {}): Promise<Served> {
  const backend = await startBackend(script);
  const running = await startGateway(servedSnapshot(backend.url, settings));
  onTestFinished(() => running.close());
  return { port: running.port, adminPort: running.adminPort, backend };
}

export function servedSnapshot(
  upstream: string,
  { gateway = {}, version = {}, adapter = {}, source = {}, routes = {} }: ServedSettings = {},
): Snapshot {
  const folder = mkdtempSync(join(tmpdir(), 'adapted-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeContracts(folder);
  const snapshot = snapshotFrom(
    {
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s', ...fastLane, ...gateway },
      routes: {
        '/v1': {
          upstream,
          contract: 'v1.json',
          ...version,
          adapter: { from: '/v2', mode: 'serve', routes: adapterRoutes, ...adapter },
        },
        '/v2': { upstream, contract: 'v2.json', ...source },
        ...routes,
      },
    },
    folder,
  );
  return withPrepared(snapshot);
}

function withPrepared(snapshot: Snapshot): Snapshot {
  const sortedVersions = snapshot.sortedVersions.map((one) =>
    one.adapter ? { ...one, adapter: { ...one.adapter, derivedFromContracts: prepared } } : one,
  );
  return { ...snapshot, sortedVersions, versions: new Map(sortedVersions.map((one) => [one.name, one])) };
}

/** Writes v1.json and v2.json. */
export function writeContracts(folder: string): void {
  writeFileSync(join(folder, 'v1.json'), JSON.stringify(contract(v1Paths)));
  writeFileSync(join(folder, 'v2.json'), JSON.stringify(contract(v2Paths)));
}

function contract(paths: object): object {
  return { openapi: '3.1.0', info: { title: 'Drinks', version: '1' }, paths };
}

function responses(byStatus: Readonly<Record<string, object>>, type = 'application/json'): object {
  const rows = Object.entries(byStatus).map(([status, schema]) => [
    status,
    { description: status, content: { [type]: { schema } } },
  ]);
  return { responses: Object.fromEntries(rows) };
}

const text = { type: 'string' };
const inPath = (name: string): object => ({ name, in: 'path', required: true, schema: text });
const inQuery = (name: string, required = false): object => ({ name, in: 'query', required, schema: text });
const bodyOf = (...names: string[]): object => {
  const properties = Object.fromEntries(names.map((name) => [name, text]));
  const schema = { type: 'object', required: names, properties };
  return { required: true, content: { 'application/json': { schema } } };
};
const cocktailSchema = {
  type: 'object',
  required: ['title', 'price'],
  properties: { title: text, price: { type: 'number' }, glass: text },
};
const messageOf = (name: string): object => ({ type: 'object', required: [name], properties: { [name]: text } });
const listOf = (name: string, items: object): object => ({
  type: 'object',
  required: [name],
  properties: { [name]: { type: 'array', items } },
});
const exported = { get: responses({ '200': text }, 'text/csv') };

const v1Paths = {
  '/drinks/{id}': { get: { parameters: [inPath('id')], ...responses({ '200': item, default: messageOf('message') }) } },
  '/drinks/mine': { get: responses({ '200': item }) },
  '/drinks': {
    get: { parameters: [inQuery('from'), tagsOf('new', 'old')], ...responses({ '200': listOf('drinks', item) }) },
    post: { requestBody: bodyOf('name'), ...responses({ '201': item, '422': messageOf('message') }) },
  },
  '/export': exported,
  '/search': { get: responses({ '200': item }) },
};

const v2Paths = {
  '/cocktails/{cocktail}': {
    get: { parameters: [inPath('cocktail')], ...responses({ '200': cocktailSchema, default: messageOf('detail') }) },
  },
  '/cocktails': {
    get: {
      parameters: [inQuery('offset'), inQuery('limit', true), tagsOf('1', '2')],
      ...responses({ '200': listOf('cocktails', cocktailSchema) }),
    },
    post: {
      requestBody: bodyOf('title', 'glass'),
      ...responses({ '201': cocktailSchema, '422': messageOf('detail') }),
    },
  },
  '/export': exported,
};
