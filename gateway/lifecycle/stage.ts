import type { Version } from '../config/snapshot.ts';

type Dated = Pick<Version, 'deprecation' | 'sunset' | 'afterSunset' | 'retired'>;

/**
 * The lifecycle stage of a version.
 * - `active`: nothing is announced
 * - `announced`: before its deprecation date
 * - `deprecated`: past that date
 * - `sunset`: past its sunset date, but still served (`after_sunset: serve`)
 * - `retired`: answered 410
 */
export type Stage = 'active' | 'announced' | 'deprecated' | 'sunset' | 'retired';

export function stageOf(version: Dated, now: number): Stage {
  if (version.retired) return 'retired';
  if (version.sunset !== undefined && version.sunset <= now) {
    return version.afterSunset === 'gone' ? 'retired' : 'sunset';
  }
  if (version.deprecation === undefined) return 'active';
  return version.deprecation <= now ? 'deprecated' : 'announced';
}
