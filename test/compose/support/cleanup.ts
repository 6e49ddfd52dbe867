/** Functions that undo what the run has set up, in the order of the setup. */
export type CleanupSteps = (() => unknown)[];

/** Runs all steps in reverse order, even if some fail. Then throws their errors. */
export async function runCleanup(steps: CleanupSteps): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps.splice(0).reverse()) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('\n'));
}

/** Runs all steps after a failure and throws that failure. Errors of the steps are only logged. */
export async function cleanUpAfter(failure: unknown, steps: CleanupSteps): Promise<never> {
  await runCleanup(steps).catch((error: unknown) => console.error('The cleanup failed, too:', error));
  throw failure;
}
