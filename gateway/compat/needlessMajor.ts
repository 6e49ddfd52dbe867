import { createHash } from 'node:crypto';
import type { Documents } from './document/documents.ts';
import { below } from './document/located.ts';
import type { Finding } from './finding.ts';
import { basisOf, type Level } from './rules/rules.ts';

/** "A new major version is created only for a breaking change": one that has none. `differing`: what it has instead. */
export function needlessMajor(
  differing: readonly Finding[],
  versions: { readonly old?: string; readonly new?: string },
  old: Documents,
  now: Documents,
  level: Exclude<Level, 'off'>,
): Finding {
  const [before, after] = [named(versions.old, 'the old major'), named(versions.new, 'the new major')];
  const rule = 'major-without-breaking-change';
  return {
    rule,
    level,
    sentence: `${after} ${holds(differing)} ${before}: stay in ${before}`,
    subject: '',
    routes: [],
    old: { place: below(old.root, 'info').place, value: undefined },
    new: { place: below(now.root, 'info').place, value: undefined },
    fingerprint: createHash('sha256').update(`${rule}\n${before}\n${after}`).digest('hex').slice(0, 16),
    hint: undefined,
  };
}

function holds(differing: readonly Finding[]): string {
  if (differing.length === 0) return 'is the same as';
  const isAllowed = differing.every((finding) => basisOf(finding.rule) === 'compatible');
  return isAllowed ? 'holds only additions to' : 'breaks nothing of';
}

function named(version: string | undefined, otherwise: string): string {
  return version === undefined ? otherwise : `/${version}`;
}
