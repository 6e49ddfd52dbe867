import { onlyFails } from '../counting/countedExchange.ts';
import type { ClientMovement, Movement } from '../usageQueries.ts';

/**
 * How far a client has moved from one version to its successor.
 * - `stayed`: it uses only the old version
 * - `both`: it uses both
 * - `moved`: it used the old version and now uses only the successor
 * - `successor only`: it never used the old version
 * - `went back`: it used the successor, and since then only the old version
 * - `failing`: it uses neither; all its requests were answered 4xx
 */
export const migrationStates = ['stayed', 'both', 'moved', 'successor only', 'went back', 'failing'] as const;
export type MigrationState = (typeof migrationStates)[number];

// If a client uses both versions at the same time, which one it used last is random.
const minWentBackMs = 3_600_000;

export function migrationState(movement: Pick<ClientMovement, 'from' | 'to' | 'before'>): MigrationState {
  const [from, to] = [unlessAllFailed(movement.from), unlessAllFailed(movement.to)];
  const { before } = movement;
  if (to === undefined) return from === undefined ? 'failing' : 'stayed';
  if (from === undefined) return before ? 'moved' : 'successor only';
  return from.last - to.last >= minWentBackMs ? 'went back' : 'both';
}

function unlessAllFailed<Side extends Movement>(side: Side | undefined): Side | undefined {
  return side === undefined || onlyFails(side) ? undefined : side;
}

/** A state as it is shown, with the versions' names: `/v1 only`. Any other text is returned unchanged. */
export function stateInWords(state: string, version: string, successor: string): string {
  if (state === 'stayed') return `${version} only`;
  return state === 'successor only' ? `${successor} only` : state;
}
