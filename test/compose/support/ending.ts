/** What is to be undone, in the order in which it was done. */
export type Ending = (() => unknown)[];

/** Undoes the last first, and each whatever becomes of the others; then throws what went wrong. */
export async function undo(ending: Ending): Promise<void> {
  const failures: unknown[] = [];
  for (const step of ending.splice(0).reverse()) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('\n'));
}

/** The same after a failure, which is what is to be told first. */
export async function undoAfter(failure: unknown, ending: Ending): Promise<never> {
  await undo(ending).catch((error: unknown) => console.error('and in the clean-up:', error));
  throw failure;
}
