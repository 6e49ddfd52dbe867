import { it } from 'vitest';
import { countExactly } from '../process/runtime/workerCounting.ts';

it('200,000 requests of 500 clients are counted exactly', { timeout: 300_000 }, async () => {
  await countExactly(200_000);
  console.log('soak: 200,000 requests of 500 clients to 3 versions and 2 workers, all counted');
});
