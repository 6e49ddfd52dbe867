import { expect, it } from 'vitest';
import { loadSnapshot } from '../../gateway/config/load.ts';
import { fromPlain, toPlain } from '../../gateway/config/transfer.ts';

it('a snapshot is equal after its transfer to another process', () => {
  const snapshot = loadSnapshot('config/routes.yaml', {});
  const arrived = fromPlain(structuredClone(toPlain(snapshot)));
  expect(arrived).toEqual(snapshot);
  expect(arrived.versions.get('v1')).toBe(arrived.byMajor[0]);
  expect(Object.isFrozen(arrived.byMajor[0])).toBe(true);
  const paths = ['/drinks/7', '/legacy-search', '/nothing'];
  const looked = (one: typeof snapshot) => paths.map((path) => one.versions.get('v1')?.moved.find(path)?.value);
  expect(looked(arrived)).toEqual(looked(snapshot));
  expect(looked(arrived)[0]).toBe('/cocktails/{id}');
});
