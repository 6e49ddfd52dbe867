import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parseConfig } from '../../../gateway/config/load.ts';
import type { ConfigResult } from '../../../gateway/config/validate.ts';
import { prepareAdaptersAndGrease } from '../../../gateway/process/runtime/adapterCheck.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { type Answer, type Backend, startBackend } from '../../support/backend.ts';
import { fastLane } from '../../support/gateway.ts';

const text = { type: 'string' };
const drink = {
  type: 'object',
  required: ['name'],
  properties: {
    name: text,
    tags: { type: 'object', additionalProperties: text },
    size: { type: 'object', properties: { ml: { type: 'integer' } }, additionalProperties: false },
    maker: { type: 'object', properties: { city: text } },
  },
};

function json(schema: object, type = 'application/json'): object {
  return { description: '', content: { [type]: { schema } } };
}

function paths(bodies: Readonly<Record<string, object>>): object {
  return Object.fromEntries(
    Object.entries(bodies).map(([path, ok]) => {
      const parameters = path.includes('{id}') ? [{ name: 'id', in: 'path', required: true, schema: text }] : [];
      const problem = json({ type: 'object', properties: { title: text } }, 'application/problem+json');
      const get = { parameters, responses: { '200': ok, default: problem } };
      return [path, { get, ...(path === '/drinks' ? { post: { responses: { '200': ok } } } : {}) }];
    }),
  );
}

const listed = {
  type: 'object',
  properties: { drinks: { type: 'array', items: { $ref: '#/components/schemas/Drink' } } },
};

/** `/drinks/{id}`: a drink with a map, a closed object and an open object. `/tree`: recursive. */
export const contract = {
  openapi: '3.1.0',
  info: { title: 'Drinks', version: '1' },
  paths: paths({
    '/drinks/{id}': json({ $ref: '#/components/schemas/Drink' }),
    '/drinks': json(listed),
    '/tree': json({ $ref: '#/components/schemas/Tree' }),
    '/text': json({ type: 'object', properties: { a: text } }, 'text/plain'),
  }),
  components: {
    schemas: {
      Drink: drink,
      Tree: { type: 'object', properties: { below: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } } },
    },
  },
};

/** Loads a routes.yaml whose files are `v1.json` (the contract above) and `files`. */
export async function loadGreased(routes: object, files: Readonly<Record<string, object>> = {}): Promise<ConfigResult> {
  const folder = mkdtempSync(join(tmpdir(), 'greased-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries({ 'v1.json': contract, ...files })) {
    writeFileSync(join(folder, name), JSON.stringify(content));
  }
  return prepareAdaptersAndGrease(parseConfig(JSON.stringify(routes), join(folder, 'routes.yaml'), { env: {} }));
}

export interface GreasedGateway {
  readonly port: number;
  readonly backend: Backend;
}

interface GreasedSettings {
  readonly gateway?: object;
  /** Of `/v1`. */
  readonly version?: object;
  /** Further routes. */
  readonly routes?: object;
  readonly files?: Readonly<Record<string, object>>;
}

/** A gateway whose `/v1` has `grease: request`; its backend answers with `script`. */
export async function startGreased(script: Answer, settings: GreasedSettings = {}): Promise<GreasedGateway> {
  const { gateway = {}, version = {}, routes = {}, files = {} } = settings;
  const backend = await startBackend(script);
  const v1 = { upstream: backend.url, contract: 'v1.json', grease: 'request', ...version };
  const listeners = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' };
  const others = JSON.parse(JSON.stringify(routes).replaceAll('BACKEND', backend.url)) as object;
  const document = { gateway: { ...listeners, ...fastLane, ...gateway }, routes: { '/v1': v1, ...others } };
  const { snapshot, faults } = await loadGreased(document, files);
  if (!snapshot) throw new Error(JSON.stringify(faults));
  const running = await startGateway(snapshot);
  onTestFinished(() => running.close());
  return { port: running.port, backend };
}
