import { expect, it } from 'vitest';
import { requestAroundIdleTimeout } from '../load/idleBackend.ts';

it('none of 5,000 GETs fails if the backend closes connections that are idle for a second', {
  timeout: 120_000,
}, async () => {
  const { statuses, connections } = await requestAroundIdleTimeout(250, 20);
  console.log(`soak: 5,000 GETs around the idle time-out of the backend, over ${connections} connections to it`);
  expect(statuses).toEqual({ 200: 5_000 });
  expect(connections, 'the backend closed some connections').toBeGreaterThan(250);
});
