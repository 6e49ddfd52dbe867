import { faultAt, has } from '../source.ts';
import type { Rule } from './rule.ts';

/** The headers promise a reader of `Sunset` that the version was deprecated before. */
export const sunsetNeedsDeprecation: Rule = ({ source, entries }) =>
  entries
    .filter(({ key, route }) => route.sunset !== undefined && !has(source, ['routes', key, 'deprecation']))
    .map(({ key }) => {
      const remedy = 'Write when clients were told, or will be: deprecation: YYYY-MM-DD.';
      return faultAt(source, ['routes', key, 'sunset'], 'A sunset needs a deprecation.', remedy);
    });

/** RFC 9745 §4: the Sunset must not be earlier than the Deprecation. */
export const sunsetNotBeforeDeprecation: Rule = ({ source, entries }) =>
  entries.flatMap(({ key, route: { deprecation, sunset } }) => {
    if (deprecation === undefined || sunset === undefined || sunset >= deprecation) return [];
    const [last, first] = [written(sunset), written(deprecation)];
    const message = `${last} is earlier than deprecation ${first}.`;
    return [faultAt(source, ['routes', key, 'sunset'], message, `Move sunset to ${first} or later, or remove it.`)];
  });

/** `2026-06-30`, or with its time where it has one. */
export function written(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z').replace('T00:00:00Z', '');
}
