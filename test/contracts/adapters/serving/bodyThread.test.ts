import { expect, it } from 'vitest';
import type { AdapterSettings } from '../../../../gateway/config/adapterSettings.ts';
import { BodyThread } from '../../../../gateway/contracts/adapters/serving/bodyThread.ts';
import { drinksAdapter } from './drinksAdapter.ts';

const settings = drinksAdapter(new Map([['200', [{ kind: 'rename', at: ['title'], to: ['name'], place: [] }]]]));

it('adapts for more adapters than the thread keeps', async () => {
  const thread = new BodyThread();
  const job = { route: 'GET /drinks', status: 200, contentType: 'application/json', coding: '' };
  const adapt = async (hash: string) =>
    String(await thread.run(settings, hash, { ...job, bytes: Buffer.from('{"title":"Mojito"}') }));
  const hashes = Array.from({ length: 40 }, (_, number) => `hash ${number}`);
  for (const hash of [...hashes, ...hashes]) expect(await adapt(hash)).toBe('{"name":"Mojito"}');
});

it('gets each adapter again after it has ended', async () => {
  const thread = new BodyThread();
  const job = { route: 'GET /drinks', status: 200, contentType: 'application/json', coding: '' };
  const run = async (of: AdapterSettings, hash: string) =>
    thread.run(of, hash, { ...job, bytes: Buffer.from('{"title":"Mojito"}') });
  expect(String(await run(settings, 'hash'))).toBe('{"name":"Mojito"}');
  const unusable = { ...settings, routes: null } as unknown as AdapterSettings;
  expect(await run(unusable, 'other')).toEqual({ pointer: '', cause: 'the thread that adapts large bodies ended' });
  expect(String(await run(settings, 'hash'))).toBe('{"name":"Mojito"}');
});
