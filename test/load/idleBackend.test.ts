import { expect, it } from 'vitest';
import { requestAroundIdleTimeout } from './idleBackend.ts';

it('no GET fails if the backend closes connections that are idle for a second', async () => {
  const { statuses, connections } = await requestAroundIdleTimeout(100, 5, { budget: '100%' });
  expect(statuses).toEqual({ 200: 500 });
  expect(connections, 'the backend closed some connections').toBeGreaterThan(100);
});
