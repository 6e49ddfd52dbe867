import { expect, it } from 'vitest';
import type { Operation } from '../../../../gateway/config/adapterSettings.ts';
import { VersionAdapter } from '../../../../gateway/contracts/adapters/serving/versionAdapter.ts';
import { drinksAdapter } from './drinksAdapter.ts';

// No routes.yaml leads to a map without values. It stands for a defect of the gateway.
const defect = { kind: 'map', at: ['title'], place: [], values: {} } as unknown as Operation;
const settings = drinksAdapter(
  new Map([
    ['200', [defect]],
    ['201', []],
  ]),
);

it.each([
  ['in the serving thread', 10],
  ['in the thread for large bodies', 300_000],
])('a defect refuses only the body at which it shows, %s', async (_where, length) => {
  const adapter = new VersionAdapter({ settings, hash: 'hash', templates: [] });
  const body = JSON.stringify({ title: 'a'.repeat(length) });
  const adapt = (status: number) =>
    adapter.adaptBody({
      route: 'GET /drinks',
      status,
      contentType: 'application/json',
      coding: '',
      bytes: Buffer.from(body),
    });
  expect(await adapt(200)).toEqual({ pointer: '', cause: 'TypeError' });
  expect(String(await adapt(201)) === body).toBe(true);
});
