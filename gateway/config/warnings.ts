import type { Fault } from './fault.ts';
import type { Context } from './rules/rule.ts';
import { linksLost } from './warnings/counterparts.ts';
import { endlessDeprecation, noSuccessor, passedSunset, successorGoesFirst } from './warnings/lifecycle.ts';
import { lonelyContract, movedIntoNothing, movedNowhere } from './warnings/links.ts';
import { nothingServed, slowProbes, unboundedTrust } from './warnings/settings.ts';
import type { Warning } from './warnings/warning.ts';

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
} satisfies Record<string, Warning>;

export function warnings(context: Context, now: number): Fault[] {
  return Object.values(warningRules).flatMap((warn) => warn(context, now));
}
