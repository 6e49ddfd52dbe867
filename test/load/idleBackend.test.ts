import { expect, it } from 'vitest';
import { askIdleBackend } from './idleBackend.ts';

it('no GET fails on a backend that closes what has idled for a second', async () => {
  const { statuses, connections } = await askIdleBackend(100, 5, { budget: '100%' });
  expect(statuses).toEqual({ 200: 500 });
  expect(connections, 'the backend has closed some').toBeGreaterThan(100);
});
