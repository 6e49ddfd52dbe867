import type { ConfigResult } from '../config/validate.ts';

/**
 * Checks the adapters of a configuration with the contracts of their versions. The modules for it are loaded only if a version
 * has an adapter. `samples`: generated values for each route, if not as many as at each load.
 */
export async function withAdapters(result: ConfigResult, samples?: number): Promise<ConfigResult> {
  if (!result.snapshot?.byMajor.some(({ adapter }) => adapter !== undefined)) return result;
  const { verifyAdapters } = await import('../adapters/verify.ts');
  return verifyAdapters(result, samples);
}
