import type { Change, Comparison, Step } from './change.ts';
import type { ContractComparison } from './diff/contracts.ts';
import type { Route } from './diff/routes.ts';
import { pointerOf } from './document/located.ts';
import { nameInWords } from './rules/rules.ts';

/** Where a change makes itself felt. */
export interface Occurrence {
  /** Undefined: in what belongs to no route. */
  readonly route: Route | undefined;
  /** From the route to the change. */
  readonly steps: readonly Step[];
}

export interface CollectedChange {
  readonly change: Change;
  /** One a route, in the order of the contract; never empty. */
  readonly occurrences: readonly [Occurrence, ...Occurrence[]];
}

/** Every change once, with all routes that it reaches; what two comparisons find at the same places is one change. */
export function collectChanges({ document, routes }: ContractComparison): CollectedChange[] {
  const collected = new Map<string, { change: Change; occurrences: [Occurrence, ...Occurrence[]] }>();
  const identities = new Map<Change, string>();
  const matters = withChanges([document, ...routes.map(({ comparison }) => comparison)]);
  const gather = (root: Comparison, route: Route | undefined): void => {
    const seen = new Set<Comparison>();
    const waiting: { comparison: Comparison; steps: readonly Step[] }[] = [{ comparison: root, steps: [] }];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const { comparison, steps } = at;
      if (seen.has(comparison) || !matters.has(comparison)) continue;
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

/** The comparisons in which, or in whose parts, anything differs. */
function withChanges(roots: readonly Comparison[]): Set<Comparison> {
  const holders = new Map<Comparison, Comparison[]>();
  const known = new Set(roots);
  // The set grows while it is walked.
  for (const whole of known) {
    for (const { comparison } of whole.parts) {
      known.add(comparison);
      const wholes = holders.get(comparison);
      if (wholes) wholes.push(whole);
      else holders.set(comparison, [whole]);
    }
  }
  const matters = new Set([...known].filter(({ changes }) => changes.length > 0));
  for (const part of matters) for (const whole of holders.get(part) ?? []) matters.add(whole);
  return matters;
}
