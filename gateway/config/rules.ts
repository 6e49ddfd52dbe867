import type { Fault } from './fault.ts';
import { adapterNeedsContracts, adapterNeedsVersion, adapterRoutes } from './rules/adapters.ts';
import {
  certificatesAreReadable,
  contractsAreReadable,
  guideNeedsContracts,
  guideNeedsSuccessor,
  guideQuotesPublishedContracts,
  namesAreReadable,
} from './rules/contracts.ts';
import {
  endsHaveDates,
  endsNameRoutes,
  endsOfContractHaveDates,
  forceNamesVersions,
  successorExists,
  successorIsHigher,
  successorsHaveNoCycle,
  sunsetNeedsDeprecation,
  sunsetNotBeforeDeprecation,
} from './rules/lifecycle.ts';
import {
  brownoutCannotStart,
  brownoutLengths,
  brownoutRoutes,
  brownoutsInDeprecation,
  brownoutsOverlap,
  freezeNeedsDate,
  freezeNeedsIdentity,
  freezeOfServedVersion,
  freezeOutlivesLedger,
  rulesNeedTagKey,
  waiversAreNotClaimable,
  waiversEndLater,
} from './rules/restrictions.ts';
import {
  movedParameters,
  movedRowsDiffer,
  movedTemplates,
  needsRoute,
  needsTarget,
  oneSpelling,
  prefixShape,
  targetsDiffer,
} from './rules/routes.ts';
import type { ConfigRule, RuleContext, WarningRule } from './rules/rule.ts';
import {
  collectorPort,
  listenersDiffer,
  nothingInService,
  openAdminNeedsToken,
  receiverNeedsUrl,
  receiversDiffer,
  receiverWithoutSecret,
  receiverWithoutTls,
  silentAfterHeartbeats,
  slowProbes,
  storePasswordIsNotWritten,
  telemetryNeedsCollector,
  unboundedTrust,
} from './rules/settings.ts';
import { unknownKeys } from './rules/unknownKeys.ts';
import {
  contractWithoutCounterpart,
  deprecationWithoutSunset,
  movedToMissingRoute,
  movedWithoutSuccessor,
  noSuccessor,
  passedSunset,
  routesWithoutCounterpart,
  successorEndsFirst,
} from './rules/warnings.ts';

/** The rules for a file without type errors. Each rule has a fixture with its id as the name in test/fixtures/bad-routes. */
export const rules = {
  'unknown-key': unknownKeys,
  'no-route': needsRoute,
  'prefix-shape': prefixShape,
  'second-spelling': oneSpelling,
  'no-target': needsTarget,
  'duplicate-target': targetsDiffer,
  'sunset-without-deprecation': sunsetNeedsDeprecation,
  'sunset-before-deprecation': sunsetNotBeforeDeprecation,
  'dangling-successor': successorExists,
  'cyclic-successor': successorsHaveNoCycle,
  'lower-successor': successorIsHigher,
  'moved-template': movedTemplates,
  'moved-parameter': movedParameters,
  'moved-twice': movedRowsDiffer,
  'end-of-unknown-route': endsNameRoutes,
  'end-dates': endsHaveDates,
  'brownout-length': brownoutLengths,
  'brownout-dates': brownoutsInDeprecation,
  'brownout-overlap': brownoutsOverlap,
  'brownout-route': brownoutRoutes,
  'waiver-ends-too-soon': waiversEndLater,
  'freeze-without-date': freezeNeedsDate,
  'freeze-of-ended-version': freezeOfServedVersion,
  'freeze-without-identity': freezeNeedsIdentity,
  'adapter-without-version': adapterNeedsVersion,
  'adapter-without-contract': adapterNeedsContracts,
  'adapter-route': adapterRoutes,
  'contract-unreadable': contractsAreReadable,
  'guide-without-successor': guideNeedsSuccessor,
  'guide-without-contract': guideNeedsContracts,
  'guide-of-hidden-contract': guideQuotesPublishedContracts,
  'certificate-unreadable': certificatesAreReadable,
  'names-unreadable': namesAreReadable,
  'open-admin': openAdminNeedsToken,
  'same-listener': listenersDiffer,
  'force-prefix': forceNamesVersions,
  'store-password': storePasswordIsNotWritten,
  'silent-too-soon': silentAfterHeartbeats,
  'telemetry-without-collector': telemetryNeedsCollector,
  'notify-without-url': receiverNeedsUrl,
  'notify-twice': receiversDiffer,
} satisfies Record<string, ConfigRule>;

/** Each rule has a fixture with its id as the name in test/fixtures/warned-routes. */
export const warningRules = {
  'deprecation-without-sunset': deprecationWithoutSunset,
  'sunset-passed': passedSunset,
  'no-successor': noSuccessor,
  'successor-ends-first': successorEndsFirst,
  'contract-without-counterpart': contractWithoutCounterpart,
  'route-without-counterpart': routesWithoutCounterpart,
  'moved-to-missing-route': movedToMissingRoute,
  'end-without-dates': endsOfContractHaveDates,
  'brownout-cannot-start': brownoutCannotStart,
  'freeze-outlives-ledger': freezeOutlivesLedger,
  'moved-without-successor': movedWithoutSuccessor,
  'rules-without-tag-key': rulesNeedTagKey,
  'claimable-waiver': waiversAreNotClaimable,
  'slow-probes': slowProbes,
  'unbounded-trust': unboundedTrust,
  'nothing-in-service': nothingInService,
  'collector-port': collectorPort,
  'notify-without-tls': receiverWithoutTls,
  'notify-without-secret': receiverWithoutSecret,
} satisfies Record<string, WarningRule>;

export function warnings(context: RuleContext, now: number): Fault[] {
  return Object.values(warningRules).flatMap((warn) => warn(context, now));
}
