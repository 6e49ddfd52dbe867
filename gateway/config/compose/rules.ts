import type { ComposeFinding } from './finding.ts';
import { dependsOnBackend, emptyVariables, mountedAlone, orphaned, stillRuns, unreached } from './serviceRules.ts';
import { notStarted, otherPort, unanswered } from './upstreamRules.ts';
import type { ComposeContext, ComposeRule } from './upstreams.ts';

/** Each has a fixture of its name in test/fixtures/compose. */
export const composeRules = {
  'upstream-unanswered': unanswered,
  'port-differs': otherPort,
  'backend-not-started': notStarted,
  'service-unreached': unreached,
  'retired-still-runs': stillRuns,
  'orphan-still-runs': orphaned,
  'depends-on-backend': dependsOnBackend,
  'routes-mounted-alone': mountedAlone,
  'gateway-environment': emptyVariables,
} satisfies Record<string, ComposeRule>;

export function findingsIn(pair: ComposeContext): ComposeFinding[] {
  return Object.values(composeRules).flatMap((rule) => rule(pair));
}
