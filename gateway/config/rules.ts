import type { Fault } from './fault.ts';
import {
  certificatesAreReadable,
  contractsAreReadable,
  guideNeedsContracts,
  guideNeedsSuccessor,
  guideTellsNoSecrets,
  namesAreReadable,
} from './rules/contracts.ts';
import {
  forceNamesVersions,
  successorExists,
  successorIsHigher,
  successorsDoNotCircle,
  sunsetNeedsDeprecation,
  sunsetNotBeforeDeprecation,
} from './rules/lifecycle.ts';
import { endlessDeprecation, noSuccessor, passedSunset, successorGoesFirst } from './rules/lifecycleWarnings.ts';
import { linksLost, lonelyContract, movedIntoNothing, movedNowhere } from './rules/linkWarnings.ts';
import { movedParameters, movedRowsDiffer, movedTemplates } from './rules/moved.ts';
import { needsRoute, needsTarget, oneSpelling, prefixShape, targetsDiffer } from './rules/routes.ts';
import type { ConfigRule, RuleContext, WarningRule } from './rules/rule.ts';
import { listenersDiffer, nothingServed, openAdminNeedsToken, slowProbes, unboundedTrust } from './rules/settings.ts';
import { unknownKeys } from './rules/unknownKeys.ts';

/** What a file has to keep to beyond its types. Each has a fixture of its name in test/fixtures/bad-routes. */
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
  'cyclic-successor': successorsDoNotCircle,
  'lower-successor': successorIsHigher,
  'moved-template': movedTemplates,
  'moved-parameter': movedParameters,
  'moved-twice': movedRowsDiffer,
  'contract-unreadable': contractsAreReadable,
  'guide-without-successor': guideNeedsSuccessor,
  'guide-without-contract': guideNeedsContracts,
  'guide-of-hidden-contract': guideTellsNoSecrets,
  'certificate-unreadable': certificatesAreReadable,
  'names-unreadable': namesAreReadable,
  'open-admin': openAdminNeedsToken,
  'same-listener': listenersDiffer,
  'force-prefix': forceNamesVersions,
} satisfies Record<string, ConfigRule>;

/** Each has a fixture of its name in test/fixtures/warned-routes. */
export const warningRules = {
  'deprecation-without-sunset': endlessDeprecation,
  'sunset-passed': passedSunset,
  'no-successor': noSuccessor,
  'successor-goes-first': successorGoesFirst,
  'contract-without-counterpart': lonelyContract,
  'route-without-counterpart': linksLost,
  'moved-into-nothing': movedIntoNothing,
  'moved-without-successor': movedNowhere,
  'slow-probes': slowProbes,
  'everybody-trusted': unboundedTrust,
  'nothing-served': nothingServed,
} satisfies Record<string, WarningRule>;

export function warnings(context: RuleContext, now: number): Fault[] {
  return Object.values(warningRules).flatMap((warn) => warn(context, now));
}
