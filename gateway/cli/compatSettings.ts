import { formatFault } from '../config/fault.ts';
import { parseConfig, readRoutes } from '../config/load.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { Io } from './io.ts';
import { UsageError } from './usageError.ts';

/** The routes.yaml that says how to compare. @throws UsageError with its faults, UnreadableFileError */
export function snapshotForCompat(file: string, { cwd, env }: Pick<Io, 'cwd' | 'env'>): Snapshot {
  const { snapshot, faults } = parseConfig(readRoutes(file, cwd), file, { env, cwd });
  if (snapshot) return snapshot;
  throw new UsageError([...faults.map(formatFault), `${file} cannot be used: see version-gateway check.`].join('\n'));
}
