import type { Fault } from '../fault.ts';
import { faultAt } from '../source.ts';
import { isPrefix } from './prefixes.ts';
import type { Rule } from './rule.ts';

/** Stands for the reason in the line that a refusal prints. It is not a reason itself. */
export const forcePlaceholder = '<why this is right>';

/** `guard.force` may name a version that is no longer in the file. Each entry needs a prefix and a reason. */
export const forceNamesVersions: Rule = ({ source, draft }) =>
  Object.entries(draft.guard.force).flatMap(([key, reason]): Fault[] => {
    const path = ['guard', 'force', key];
    if (!isPrefix(key))
      return [faultAt(source, path, `${key} is not the prefix of a version.`, 'Write /v1: "the reason".', 'key')];
    // The placeholder without its brackets is what remains when somebody removes only those.
    const isPlaceholder = /^\s*<.*>\s*$/.test(reason) || reason.trim() === forcePlaceholder.slice(1, -1);
    return isPlaceholder ? [faultAt(source, path, `"${reason}" is a placeholder.`, 'Write the reason.')] : [];
  });
