import type { Change, ChangeOf, Direction, Kind } from '../change.ts';

/**
 * Whether a rule is about a change: what to say of it, as the end of a sentence whose subject is the place of the change
 * ("GET /drinks: response 200 field `price`" + "was removed"). Undefined: it is about something else.
 */
export type Check = (change: Change) => string | undefined;

export function is<K extends Kind>(
  change: Change,
  kind: K,
  effects: readonly ChangeOf<K>['effect'][],
  direction?: Direction,
): boolean {
  const isDirected = direction === undefined || change.direction === direction;
  return change.kind === kind && isDirected && (effects as readonly string[]).includes(change.effect);
}
