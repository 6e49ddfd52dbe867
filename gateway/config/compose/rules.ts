import type { ComposeFinding } from './finding.ts';
import {
  dependsOnBackend,
  gatewayEnvironment,
  orphanStillRuns,
  retiredStillRuns,
  routesMountedAlone,
  serviceUnreached,
} from './serviceRules.ts';
import { backendNotStarted, portDiffers, upstreamUnanswered } from './upstreamRules.ts';
import type { ComposeContext, ComposeRule } from './upstreams.ts';

/** Each has a fixture of its name in test/fixtures/compose. */
export const composeRules = {
  'upstream-unanswered': upstreamUnanswered,
  'port-differs': portDiffers,
  'backend-not-started': backendNotStarted,
  'service-unreached': serviceUnreached,
  'retired-still-runs': retiredStillRuns,
  'orphan-still-runs': orphanStillRuns,
  'depends-on-backend': dependsOnBackend,
  'routes-mounted-alone': routesMountedAlone,
  'gateway-environment': gatewayEnvironment,
} satisfies Record<string, ComposeRule>;

export function findingsIn(pair: ComposeContext): ComposeFinding[] {
  return Object.values(composeRules).flatMap((rule) => rule(pair));
}
