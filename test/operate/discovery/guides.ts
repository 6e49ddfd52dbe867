import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { contractFolder } from './server.ts';

type Json = Readonly<Record<string, unknown>>;

/** A route whose response is an object with these fields. */
export function giving(properties: Json, example: unknown): Json {
  const schema = { type: 'object', required: Object.keys(properties), properties };
  return { get: { responses: { 200: { description: 'fine', content: { 'application/json': { schema, example } } } } } };
}

export const older: Json = {
  '/drinks': giving({ title: { type: 'string' } }, { title: 'Negroni' }),
  '/drinks/{id}': giving({ price: { type: 'string' } }, { price: '9.50' }),
  '/search': giving({}, {}),
  '/health': giving({}, {}),
};

export const newer: Json = {
  '/drinks': giving({ name: { type: 'string' }, glass: { type: 'string' } }, { name: 'Negroni', glass: 'tumbler' }),
  '/cocktails/{id}': giving({ price: { type: 'number' } }, { price: 9.5 }),
  '/health': giving({}, {}),
  '/bars': giving({}, {}),
};

export interface GuideOptions {
  readonly old?: Json;
  readonly now?: Json;
  readonly title?: string;
  /** Overrides settings of /v1. */
  readonly route?: Json;
  readonly gateway?: Json;
  readonly folder?: string;
}

/** Two versions with contracts, and a guide from one to the other. */
export function guided({ old = older, now = newer, title = 'Cocktails', ...rest }: GuideOptions = {}): Snapshot {
  const { route = {}, gateway = {}, folder = contractFolder() } = rest;
  for (const [name, paths] of [
    ['old.json', old],
    ['new.json', now],
  ] as const) {
    writeFileSync(join(folder, name), JSON.stringify({ openapi: '3.1.0', info: { title, version: '1' }, paths }));
  }
  const v1 = {
    upstream: 'http://127.0.0.1:3001',
    contract: 'old.json',
    guide: true,
    deprecation: '2026-06-30',
    sunset: '2028-06-30',
    moved: { '/drinks/{id}': '/cocktails/{id}', '/search': null },
    ...route,
  };
  const v2 = { upstream: 'http://127.0.0.1:3002', contract: 'new.json' };
  return snapshotFrom({ routes: { '/v1': v1, '/v2': v2 }, gateway }, folder);
}
