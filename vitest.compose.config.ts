import { defineConfig } from 'vitest/config';

/** The stack in a real container engine: `npm run test:compose`. */
export default defineConfig({
  test: {
    include: ['test/compose/**/*.test.ts'],
    globalSetup: ['test/compose/support/setup.ts'],
    // Generous, because a busy machine must not fail a test.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    // Long enough to stop the engine.
    teardownTimeout: 300_000,
    // One file at a time: they share the engine, the images and the ports.
    maxWorkers: 1,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
