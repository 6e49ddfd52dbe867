import { onTestFinished } from 'vitest';
import type { Ledger } from '../../gateway/usage/ledger/ledger.ts';
import { LedgerReader } from '../../gateway/usage/ledger/reader.ts';

/** Opens a reader of the file of `ledger`; closed at the end of the test. */
export function readLedger({ settings: { store, names }, unwrittenRows, problem }: Ledger): LedgerReader {
  try {
    const reader = LedgerReader.open(store, names);
    onTestFinished(() => reader.close());
    return reader;
  } catch (error) {
    return LedgerReader.unreadable(problem ?? String(error), unwrittenRows);
  }
}

/** Since when a ledger has the calls of all versions, epoch ms. */
export async function coveredSince(reader: LedgerReader, quiet?: number, until?: number): Promise<number | undefined> {
  return (await reader.coverage(undefined, quiet, until)).since;
}
