import { resolve } from 'node:path';
import { printable } from '../shared/text.ts';
import { LedgerReader } from '../usage/ledger/reader.ts';
import { UsageError } from './io.ts';

// Commands that read a ledger without a gateway: `--store FILE` or `--store postgres://…`.

/** `namesFile`: the file of client names, absolute. The code for PostgreSQL is loaded only for a fleet. @throws UsageError */
export async function openLedger(store: string, cwd: string, namesFile: string | undefined): Promise<LedgerReader> {
  try {
    if (!isStoreUrl(store)) return LedgerReader.open(resolve(cwd, store), namesFile);
    const { FleetLedger } = await import('../fleet/ledger.ts');
    const ledger = new LedgerReader(await FleetLedger.open({ store, passwordFile: undefined }));
    ledger.readClientNames(namesFile);
    return ledger;
  } catch (error) {
    throw unreadableLedger(store, error instanceof Error ? error.message : String(error));
  }
}

function isStoreUrl(store: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(store);
}

/** `reason`: one sentence. */
export function unreadableLedger(store: string, reason: string): UsageError {
  // The URL may contain a password.
  if (isStoreUrl(store)) return new UsageError(printable(reason));
  const remedy = 'Give the usage.store of a gateway.';
  return new UsageError(
    printable(`${store} cannot be read as a usage ledger: ${reason.replace(/\.$/, '')}.  ${remedy}`),
  );
}
