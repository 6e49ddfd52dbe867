import { it } from 'vitest';
import { countInFleet } from '../fleet/exactCounting.ts';
import { startPostgres } from '../support/postgres.ts';

it('200,000 requests to three gateways are counted exactly in their store', { timeout: 600_000 }, async () => {
  const server = await startPostgres();
  try {
    await countInFleet(server, 200_000);
  } finally {
    await server.stop();
  }
  console.log('soak: 200,000 requests of 500 clients to 3 gateways with 2 workers each, all in the store');
});
