import { defineConfig } from 'vitest/config';

/** Load and time, for which `npm test` has no patience, and all cases of some of its tests: `npm run soak`. */
export default defineConfig({
  test: {
    // The first line is the soak tests. The others try only some of their cases with `npm test`.
    include: [
      'test/soak/**/*.test.ts',
      'test/contracts/compat/{rewrites,mutations,garbage}.test.ts',
      'test/contracts/grease/generated.test.ts',
      'test/browser/crowd.test.ts',
      'test/load/aborts.test.ts',
      'test/usage/evidence/histories.test.ts',
      'test/faults/campaign.test.ts',
    ],
    env: { ALL_CASES: 'yes' },
    testTimeout: 120_000,
    hookTimeout: 30_000,
    // One file at a time: they measure.
    maxWorkers: 1,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
