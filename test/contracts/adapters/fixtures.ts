import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { formatFault } from '../../../gateway/config/fault.ts';
import { parseConfig } from '../../../gateway/config/load.ts';
import type { ConfigResult } from '../../../gateway/config/validate.ts';
import { prepareAdaptersAndGrease } from '../../../gateway/process/runtime/adapterCheck.ts';

/** A routes.yaml with both contracts, and the faults and warnings that are expected. */
export interface AdapterFixture {
  readonly name: string;
  readonly routes: string;
  readonly v1: string;
  readonly v2: string;
  readonly expected: string;
}

const folder = (name: string): string => new URL(`../../fixtures/${name}/`, import.meta.url).pathname;

export function adapterFixtures(name: string): AdapterFixture[] {
  return readdirSync(folder(name)).map((file) => {
    const text = readFileSync(join(folder(name), file), 'utf8');
    const [routes = '', v1 = '', v2 = '', expected = ''] = text.split(/^---(?:v1|v2|expected)---\n/m);
    return { name: basename(file, '.yaml'), routes, v1, v2, expected };
  });
}

/** Loads the routes.yaml of a fixture, and checks its adapter with the contracts. */
export async function loadFixture(
  { routes, v1, v2 }: Pick<AdapterFixture, 'routes' | 'v1' | 'v2'>,
  samples?: number,
): Promise<ConfigResult> {
  const cwd = mkdtempSync(join(tmpdir(), 'adapter-'));
  try {
    writeFileSync(join(cwd, 'v1.yaml'), v1);
    writeFileSync(join(cwd, 'v2.yaml'), v2);
    const clock = { now: () => Date.parse('2026-11-21T10:00:00Z') };
    return await prepareAdaptersAndGrease(parseConfig(routes, 'routes.yaml', { cwd, env: {}, clock }), samples);
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

export function printed({ faults, warnings }: Pick<ConfigResult, 'faults' | 'warnings'>): string {
  return [...faults.map(formatFault), ...warnings.map((one) => `warning ${formatFault(one)}`)]
    .map((line) => `${line.replaceAll(/\/\S*\/adapter-\w+\//g, '')}\n`)
    .join('');
}

export type Schema = Readonly<Record<string, unknown>>;

/** The schemas of a response: one for JSON, or one for each media type. `operations` turn the response of v2 into that of v1. */
export interface ResponsePair {
  readonly v1: Schema;
  readonly v2: Schema;
  readonly operations?: readonly Schema[];
  readonly openapi?: string;
}

export function object(properties: Schema, required = Object.keys(properties)): Schema {
  return { type: 'object', required, properties };
}

function contract(path: string, schema: Schema, openapi: string): string {
  const isByType = Object.keys(schema).some((key) => key.includes('/'));
  const types = Object.entries(isByType ? schema : { 'application/json': schema });
  const content = Object.fromEntries(types.map(([type, one]) => [type, { schema: one }]));
  const paths = { [path]: { get: { responses: { '200': { description: '', content } } } } };
  const components = { schemas: { Item: object({ n: { type: 'string' } }) } };
  return JSON.stringify({ openapi, info: { title: 'd', version: '1' }, paths, components });
}

/** Loads an adapter with one route. */
export async function loadPair({ v1, v2, operations = [], openapi = '3.1.0' }: ResponsePair): Promise<ConfigResult> {
  const routes = { 'GET /drinks': { to: 'GET /cocktails', response: { 200: operations } } };
  const versions = {
    '/v1': { upstream: 'http://127.0.0.1:3001', contract: 'v1.yaml', adapter: { from: '/v2', routes } },
    '/v2': { upstream: 'http://127.0.0.1:3002', contract: 'v2.yaml' },
  };
  return loadFixture({
    routes: JSON.stringify({ routes: versions }),
    v1: contract('/drinks', v1, openapi),
    v2: contract('/cocktails', v2, openapi),
  });
}

/** `accepted`, or the faults. */
export function acceptedOrFaults(result: ConfigResult): string {
  return result.faults.length === 0 ? 'accepted' : printed(result);
}
