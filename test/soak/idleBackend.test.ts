import { expect, it } from 'vitest';
import { askIdleBackend } from '../load/idleBackend.ts';

it('5,000 GETs to a backend that closes what has idled for a second: none fails', { timeout: 120_000 }, async () => {
  const { statuses, connections } = await askIdleBackend(250, 20);
  console.log(`soak: 5,000 GETs around the idle time-out of the backend, over ${connections} connections to it`);
  expect(statuses).toEqual({ 200: 5_000 });
  expect(connections, 'the backend has closed some').toBeGreaterThan(250);
});
