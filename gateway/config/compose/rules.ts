import type { Finding } from './finding.ts';
import { dependsOnBackend, emptyVariables, mountedAlone } from './rules/gateway.ts';
import { orphaned } from './rules/orphans.ts';
import type { ComposeRule, Pair } from './rules/rule.ts';
import { stillRuns, unreached } from './rules/services.ts';
import { notStarted, otherPort, unanswered } from './rules/upstreams.ts';

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

export function findingsIn(pair: Pair): Finding[] {
  return Object.values(composeRules).flatMap((rule) => rule(pair));
}
