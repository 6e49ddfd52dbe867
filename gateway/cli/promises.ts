import { readAccepted, writeAccepted } from '../config/acceptedConfig.ts';
import type { Snapshot } from '../config/snapshot.ts';
import { guardReload, type UseFacts } from '../lifecycle/reloadGuard.ts';

// What was served when is not kept beyond the process that served it.
const unknownUse: UseFacts = { lastAsked: () => undefined };

/** What a start with this snapshot breaks of what was promised before it, in lines to warn with. */
export function brokenPromises(snapshot: Snapshot, now: number): string[] {
  const { promises, warning } = readAccepted(snapshot.usage.store);
  if (promises === undefined) return warning === undefined ? [] : [warning];
  return guardReload(promises, snapshot, unknownUse, now).map(({ message }) => message);
}

/** Keeps every snapshot that it is given; what hinders it is said once, and again when it is something else. */
export function promiseKeeper(warn: (line: string) => void): (snapshot: Snapshot) => void {
  let last: string | undefined;
  return (snapshot) => {
    const failure = writeAccepted(snapshot);
    if (failure !== undefined && failure !== last) warn(failure);
    last = failure;
  };
}
