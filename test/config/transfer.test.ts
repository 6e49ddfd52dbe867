import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadSnapshot, snapshotFrom } from '../../gateway/config/load.ts';
import { fromPlain, toPlain } from '../../gateway/config/transfer.ts';
import { temporaryFolder } from './temporary.ts';

it('a snapshot is equal after its transfer to another process', () => {
  const snapshot = loadSnapshot('config/routes.yaml', {});
  const arrived = fromPlain(structuredClone(toPlain(snapshot)));
  expect(arrived).toEqual(snapshot);
  expect(arrived.versions.get('v1')).toBe(arrived.sortedVersions[0]);
  expect(Object.isFrozen(arrived.sortedVersions[0])).toBe(true);
  const paths = ['/drinks/7', '/legacy-search', '/nothing'];
  const looked = (one: typeof snapshot) => paths.map((path) => one.versions.get('v1')?.moved.find(path)?.value);
  expect(looked(arrived)).toEqual(looked(snapshot));
  expect(looked(arrived)[0]).toBe('/cocktails/{id}');
});

it('the ends of routes are equal after the transfer, with those of the contract', () => {
  const file = join(temporaryFolder(), 'v1.json');
  const get = { deprecated: true, 'x-deprecated-since': '2026-06-01', 'x-sunset': '2027-06-01' };
  writeFileSync(file, JSON.stringify({ openapi: '3.1.0', paths: { '/v1/drinks/{id}': { get }, '/old': { get } } }));
  const upstream = 'http://127.0.0.1:3001';
  const ends = { 'GET /old': { deprecation: '2026-09-01' } };
  const snapshot = snapshotFrom({ routes: { '/v1': { upstream, contract: file, ends } } });
  const [since, until] = [Date.UTC(2026, 5, 1), Date.UTC(2027, 5, 1)];
  expect(snapshot.sortedVersions[0]?.ends).toEqual([
    { method: 'GET', path: '/old', deprecation: Date.UTC(2026, 8, 1), sunset: undefined },
    { method: 'GET', path: '/drinks/{id}', deprecation: since, sunset: until },
  ]);
  expect(fromPlain(structuredClone(toPlain(snapshot)))).toEqual(snapshot);
});
