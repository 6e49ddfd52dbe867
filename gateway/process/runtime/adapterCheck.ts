import type { ConfigResult } from '../../config/validate.ts';

/**
 * Completes a configuration from the contracts of its versions: checks their adapters, and plans where `grease` adds members.
 * Modules for adapters and `grease` are loaded only if a version needs them. `samples`: how many values are generated for each
 * kind of message of a route; undefined: as many as a start generates.
 */
export async function prepareAdaptersAndGrease(result: ConfigResult, samples?: number): Promise<ConfigResult> {
  let checked = result;
  if (checked.snapshot?.sortedVersions.some(({ adapter }) => adapter !== undefined)) {
    const { verifyAdapters } = await import('../../contracts/adapters/proof/verify.ts');
    checked = await verifyAdapters(checked, samples);
  }
  if (!checked.snapshot?.sortedVersions.some(({ grease }) => grease !== undefined)) return checked;
  const { withGreasePlans } = await import('../../contracts/grease/greasePlan.ts');
  return withGreasePlans(checked);
}
