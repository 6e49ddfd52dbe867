import { onlyFails } from '../usage/outcome.ts';
import type { ClientMovement, Movement } from '../usage/queries.ts';

/**
 * How far a client has come from one version to its successor, as the ledger tells.
 * - `stayed`: it uses the old version only
 * - `both`: it uses both
 * - `moved`: it has used the old version, and uses the successor only
 * - `successor only`: it was never seen on the old version
 * - `went back`: it has used the successor, and since then the old version alone
 * - `failing`: it uses neither, since all its requests were answered 4xx
 */
export const migrationStates = ['stayed', 'both', 'moved', 'successor only', 'went back', 'failing'] as const;
export type MigrationState = (typeof migrationStates)[number];

// Whoever uses both at the same time has called one of them last by chance.
const backFor = 3_600_000;

export function migrationState(movement: Pick<ClientMovement, 'from' | 'to' | 'before'>): MigrationState {
  const [from, to] = [used(movement.from), used(movement.to)];
  const { before } = movement;
  if (to === undefined) return from === undefined ? 'failing' : 'stayed';
  if (from === undefined) return before ? 'moved' : 'successor only';
  return from.last - to.last >= backFor ? 'went back' : 'both';
}

/** Undefined where nothing but failures is known. */
function used<Side extends Movement>(side: Side | undefined): Side | undefined {
  return side === undefined || onlyFails(side) ? undefined : side;
}

/** For people, with the names of the versions: `/v1 only`. What is no state stays as it is. */
export function stateInWords(state: string, version: string, successor: string): string {
  if (state === 'stayed') return `${version} only`;
  return state === 'successor only' ? `${successor} only` : state;
}
