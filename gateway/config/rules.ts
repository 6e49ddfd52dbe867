import { sunsetNeedsDeprecation, sunsetNotBeforeDeprecation } from './rules/dates.ts';
import { forceNamesVersions } from './rules/force.ts';
import { guideNeedsContracts, guideNeedsSuccessor, guideTellsNoSecrets } from './rules/guide.ts';
import { listenersDiffer, openAdminNeedsToken } from './rules/listeners.ts';
import { movedParameters, movedRowsDiffer, movedTemplates } from './rules/moved.ts';
import { oneSpelling, prefixShape } from './rules/prefixes.ts';
import { certificatesAreReadable, contractsAreReadable, namesAreReadable } from './rules/references.ts';
import { needsRoute } from './rules/routes.ts';
import type { Rule } from './rules/rule.ts';

import { successorExists, successorIsHigher, successorsDoNotCircle } from './rules/successors.ts';
import { needsTarget, targetsDiffer } from './rules/targets.ts';
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
} satisfies Record<string, Rule>;
