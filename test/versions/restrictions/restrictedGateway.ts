import { onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { type RunningGateway, startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { fastLane } from '../../support/gateway.ts';
import { coverTenDays } from '../../support/ledgerWith.ts';

export interface RestrictedGateway extends RunningGateway {
  /** Lines for the operator. */
  readonly notices: string[];
  readonly ledger: Ledger;
  readonly folder: string;
  /** Sets the clock of the gateway. */
  at(time: string): void;
  /** Replaces the sections of routes.yaml, and reloads. */
  edit(file: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/**
 * A gateway with a ledger and a clock that the test sets. `file`: the sections of routes.yaml, without addresses.
 * `earlierFolder`: the folder of an earlier run. Without it, the ledger covers the ten days before `time`.
 */
export async function startRestricted(
  file: Readonly<Record<string, unknown>>,
  time: string,
  earlierFolder?: string,
): Promise<RestrictedGateway> {
  const folder = earlierFolder ?? temporaryFolder();
  let now = Date.parse(time);
  const clock = { now: () => now };
  let current = snapshotIn(file, folder);
  if (earlierFolder === undefined) coverTenDays(current.usage.store, now);
  const ledger = Ledger.open(current.usage, { clock });
  const notices: string[] = [];
  const notice = (line: string): void => void notices.push(line);
  const running = await startGateway(current, { clock, ledger, notice, load: () => current, logs: 'log' in file });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= running.close().then(() => ledger.close());
    return closed;
  };
  onTestFinished(close);
  return {
    ...running,
    notices,
    ledger,
    folder,
    close,
    at: (next) => {
      now = Date.parse(next);
    },
    edit: (next) => {
      current = snapshotIn(next, folder);
      return running.reload('admin');
    },
  };
}

function snapshotIn(file: Readonly<Record<string, unknown>>, folder: string) {
  return snapshotFrom(
    {
      guard: { quiet: 'off', notice: 'off' },
      ...file,
      gateway: {
        listen: '127.0.0.1:0',
        admin: '127.0.0.1:0',
        drain: '1s',
        ...fastLane,
        ...(file['gateway'] as object),
      },
    },
    folder,
  );
}
