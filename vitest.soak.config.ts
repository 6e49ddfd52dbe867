import { defineConfig } from 'vitest/config';

/** Load and time, for which `npm test` has no patience: `npm run soak`. */
export default defineConfig({
  test: {
    include: ['test/soak/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 30_000,
    // One file at a time: they measure.
    maxWorkers: 1,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
