import type { ClientMovement } from '../usage/queries.ts';

/**
 * How far a client has come from one version to its successor.
 * - `stayed`: it uses the old version only
 * - `both`: it uses both
 * - `moved`: it uses the successor only
 * - `went back`: it has used the successor, and since then the old version alone
 */
export type MigrationState = 'stayed' | 'both' | 'moved' | 'went back';

// Whoever uses both at the same time has called one of them last by chance.
const backFor = 3_600_000;

export function migrationState({ from, to }: Pick<ClientMovement, 'from' | 'to'>): MigrationState {
  if (to === undefined) return 'stayed';
  if (from === undefined) return 'moved';
  return from.last - to.last >= backFor ? 'went back' : 'both';
}
