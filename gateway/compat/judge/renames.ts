import type { Change, Comparison } from '../diff/change.ts';
import type { ContractComparison, RouteComparison } from '../diff/contracts.ts';
import { below } from '../document/located.ts';
import { labelOf, routeInWords } from '../rules/words.ts';
import { substance } from '../schema/canonical.ts';

const leastSimilarity = 0.5;
const leastRouteSimilarity = 0.7;
// If everything at one place was renamed, guesses are not worth the time.
const mostTrials = 2500;

/** For each removal that looks like a rename: the new name, which was added at the same place. */
export function renamesIn({ document, routes }: ContractComparison): ReadonlyMap<Change, string> {
  const renames = new Map<Change, string>();
  const seen = new Set<Comparison>([document, ...routes.map(({ comparison }) => comparison)]);
  // The loop adds to the set.
  for (const comparison of seen) {
    for (const part of comparison.parts) seen.add(part.comparison);
    addRenames(comparison.changes, renames);
  }
  addRouteRenames(routes, renames);
  return renames;
}

function addRenames(changes: readonly Change[], renames: Map<Change, string>): void {
  const named = changes.filter(({ kind }) => kind === 'field' || kind === 'parameter' || kind === 'header');
  const removed = named.filter(({ effect }) => effect === 'removed');
  const added = named.filter(({ effect }) => effect !== 'removed');
  if (removed.length * added.length > mostTrials) return;
  for (const removal of removed) {
    const candidates = added.filter(({ kind, direction }) => kind === removal.kind && direction === removal.direction);
    const scored = candidates.map((one) => {
      const label = labelOf(one);
      // The same schema makes a rename more likely.
      const isSame = substance(removal.old?.value) === substance(one.new?.value);
      return { label, score: similarity(pairsIn(labelOf(removal)), pairsIn(label)) + (isSame ? 0.25 : -0.1) };
    });
    const [best] = scored.filter(({ score }) => score >= leastSimilarity).sort((a, b) => b.score - a.score);
    if (best) renames.set(removal, best.label);
  }
}

function addRouteRenames(routes: readonly RouteComparison[], renames: Map<Change, string>): void {
  const added = routes
    .filter(({ comparison }) => comparison.changes[0]?.effect === 'added')
    .map(({ route }) => ({ route, pairs: pairsIn(route.path), id: operationIdOf(route) }));
  for (const { route, comparison } of routes) {
    const [removal] = comparison.changes;
    if (removal?.kind !== 'route' || removal.effect !== 'removed') continue;
    const [id, pairs] = [operationIdOf(route), pairsIn(route.path)];
    const scored = added
      .filter((one) => one.route.method === route.method && one.route.kind === route.kind)
      .map((one) => ({ one, score: one.id === id && id !== undefined ? 2 : similarity(pairs, one.pairs) }));
    const [best] = scored.filter(({ score }) => score >= leastRouteSimilarity).sort((a, b) => b.score - a.score);
    if (best) renames.set(removal, routeInWords(best.one.route));
  }
}

function operationIdOf({ operation }: RouteComparison['route']): unknown {
  return below(operation, 'operationId').value;
}

/** A name, prepared for comparisons with many others. */
export interface LetterPairs {
  /** Without case and punctuation: `drink_id`, `drinkId` and `DRINK-ID` are the same. */
  readonly plain: string;
  /** How often each pair of neighbouring letters occurs. */
  readonly counts: ReadonlyMap<string, number>;
}

export function pairsIn(name: string): LetterPairs {
  const plain = name.toLowerCase().replace(/[^\p{L}\p{N}/]/gu, '');
  const counts = new Map<string, number>();
  for (let at = 1; at < plain.length; at += 1) {
    const pair = plain.slice(at - 1, at + 1);
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return { plain, counts };
}

/** The Dice coefficient of two names' letter pairs, from 0 to 1. */
export function similarity(a: LetterPairs, b: LetterPairs): number {
  if (a.plain === b.plain) return 1;
  if (a.plain.length < 2 || b.plain.length < 2) return 0;
  let shared = 0;
  for (const [pair, count] of a.counts) shared += Math.min(count, b.counts.get(pair) ?? 0);
  return (2 * shared) / (a.plain.length + b.plain.length - 2);
}
