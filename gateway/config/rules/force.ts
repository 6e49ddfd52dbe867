import { faultAt } from '../source.ts';
import { isPrefix } from './prefixes.ts';
import type { Rule } from './rule.ts';

/** `guard.force` may name a version that is no longer in the file, but it has to name one. */
export const forceNamesVersions: Rule = ({ source, draft }) =>
  Object.keys(draft.guard.force)
    .filter((key) => !isPrefix(key))
    .map((key) =>
      faultAt(
        source,
        ['guard', 'force', key],
        `${key} is not the prefix of a version.`,
        'Write /v1: "the reason".',
        'key',
      ),
    );
