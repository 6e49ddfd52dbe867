import type { Change, Comparison, Step } from '../diff/change.ts';
import type { ContractComparison } from '../diff/contracts.ts';
import type { Route } from '../diff/routes.ts';
import { pointerOf } from '../document/located.ts';
import { nameInWords, type Occurrence } from '../rules/rules.ts';

export interface CollectedChange {
  readonly change: Change;
  /** One for each route, in the order of the contract. */
  readonly occurrences: readonly [Occurrence, ...Occurrence[]];
}

/** Each change once, with all routes that it affects. Equal changes at the same places count as one. */
export function collectChanges({ document, routes }: ContractComparison): CollectedChange[] {
  const collected = new Map<string, { change: Change; occurrences: [Occurrence, ...Occurrence[]] }>();
  const identities = new Map<Change, string>();
  const changed = withChanges([document, ...routes.map(({ comparison }) => comparison)]);
  const gather = (root: Comparison, route: Route | undefined): void => {
    const seen = new Set<Comparison>();
    const waiting: { comparison: Comparison; steps: readonly Step[] }[] = [{ comparison: root, steps: [] }];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const { comparison, steps } = at;
      if (seen.has(comparison) || !changed.has(comparison)) continue;
      seen.add(comparison);
      for (const change of comparison.changes) {
        const identity = identities.get(change) ?? identityOf(change);
        identities.set(change, identity);
        const known = collected.get(identity);
        if (!known) collected.set(identity, { change, occurrences: [{ route, steps }] });
        else if (known.occurrences.at(-1)?.route !== route) known.occurrences.push({ route, steps });
      }
      for (const { step, comparison: part } of comparison.parts.toReversed()) {
        waiting.push({ comparison: part, steps: step ? [...steps, step] : steps });
      }
    }
  };
  gather(document, undefined);
  for (const { route, comparison } of routes) gather(comparison, route);
  return [...collected.values()];
}

function identityOf(change: Change): string {
  const { kind, effect, direction, old, new: now } = change;
  const pointers = [old, now].map((located) => (located ? pointerOf(located.place) : ''));
  return [kind, effect, direction, nameInWords(change), ...pointers].join('\n');
}

/** The comparisons that contain a change, in themselves or in a part. */
function withChanges(roots: readonly Comparison[]): Set<Comparison> {
  const holders = new Map<Comparison, Comparison[]>();
  const known = new Set(roots);
  // The loop adds to the set.
  for (const whole of known) {
    for (const { comparison } of whole.parts) {
      known.add(comparison);
      const wholes = holders.get(comparison);
      if (wholes) wholes.push(whole);
      else holders.set(comparison, [whole]);
    }
  }
  const changed = new Set([...known].filter(({ changes }) => changes.length > 0));
  for (const part of changed) for (const whole of holders.get(part) ?? []) changed.add(whole);
  return changed;
}
