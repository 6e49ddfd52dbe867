import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Container tests need an engine, and soak tests patience: they have commands of their own.
    exclude: ['test/compose/**', 'test/soak/**'],
    // Generous, because a busy machine must not fail a test. Speed is measured as CPU time, or by the soak tests.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // Each file speaks over real sockets; more at once than cores only makes them wait for each other.
    maxWorkers: 2,
  },
});
