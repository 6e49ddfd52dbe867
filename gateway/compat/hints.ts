import type { Change, Comparison } from './change.ts';
import type { ContractComparison, RouteComparison } from './diff/contracts.ts';
import { routeInWords } from './diff/routes.ts';
import { below } from './document/located.ts';
import { lettersOf, likeness } from './likeness.ts';
import { labelOf } from './rules/subjects.ts';
import { substance } from './schema/canonical.ts';

const alike = 0.5;
// Where everything has another name, nothing is a guess worth the time.
const mostTrials = 2500;

/** By what was removed: which of the things that were added at the same place it may have become. */
export function hintsFor({ document, routes }: ContractComparison): ReadonlyMap<Change, string> {
  const hints = new Map<Change, string>();
  const seen = new Set<Comparison>([document, ...routes.map(({ comparison }) => comparison)]);
  // The set grows while it is walked.
  for (const comparison of seen) {
    for (const part of comparison.parts) seen.add(part.comparison);
    hintAmong(comparison.changes, hints);
  }
  hintAtRoutes(routes, hints);
  return hints;
}

function hintAmong(changes: readonly Change[], hints: Map<Change, string>): void {
  const named = changes.filter(({ kind }) => kind === 'field' || kind === 'parameter' || kind === 'header');
  const removed = named.filter(({ effect }) => effect === 'removed');
  const added = named.filter(({ effect }) => effect !== 'removed');
  if (removed.length * added.length > mostTrials) return;
  for (const gone of removed) {
    const candidates = added.filter(({ kind, direction }) => kind === gone.kind && direction === gone.direction);
    const scored = candidates.map((one) => ({ label: labelOf(one), score: scoreOf(gone, one) }));
    const [best] = scored.filter(({ score }) => score >= alike).sort((a, b) => b.score - a.score);
    if (best) hints.set(gone, `looks renamed to ${best.label.includes('`') ? best.label : `\`${best.label}\``}`);
  }
}

/** What demands the same is the likelier to be the same. */
function scoreOf(gone: Change, added: Change): number {
  const isSame = substance(gone.old?.value) === substance(added.new?.value);
  return likeness(lettersOf(labelOf(gone)), lettersOf(labelOf(added))) + (isSame ? 0.25 : -0.1);
}

function hintAtRoutes(routes: readonly RouteComparison[], hints: Map<Change, string>): void {
  const added = routes
    .filter(({ comparison }) => comparison.changes[0]?.effect === 'added')
    .map(({ route }) => ({ route, letters: lettersOf(route.path), id: idOf(route) }));
  for (const { route, comparison } of routes) {
    const [gone] = comparison.changes;
    if (gone?.kind !== 'route' || gone.effect !== 'removed') continue;
    const [id, letters] = [idOf(route), lettersOf(route.path)];
    const scored = added
      .filter((one) => one.route.method === route.method && one.route.kind === route.kind)
      .map((one) => ({ one, score: one.id === id && id !== undefined ? 2 : likeness(letters, one.letters) }));
    const [best] = scored.filter(({ score }) => score >= 0.7).sort((a, b) => b.score - a.score);
    if (best) hints.set(gone, `looks renamed to \`${routeInWords(best.one.route)}\``);
  }
}

function idOf({ operation }: RouteComparison['route']): unknown {
  return below(operation, 'operationId').value;
}
