import type { Version } from '../config/snapshot.ts';

/**
 * Where a version stands in its life.
 * - `active`: nothing is announced
 * - `announced`: its deprecation date lies ahead
 * - `deprecated`: past that date
 * - `sunset`: past its sunset, and served all the same (`after_sunset: serve`)
 * - `retired`: answered 410
 */
export type Stage = 'active' | 'announced' | 'deprecated' | 'sunset' | 'retired';

export function stageOf(version: Version, now: number): Stage {
  if (version.retired) return 'retired';
  if (version.sunset !== undefined && version.sunset <= now) {
    return version.afterSunset === 'gone' ? 'retired' : 'sunset';
  }
  if (version.deprecation === undefined) return 'active';
  return version.deprecation <= now ? 'deprecated' : 'announced';
}
