import type { Comparison } from './change.ts';
import { isMap, type Located } from './document/located.ts';
import { isDocs, isEqual } from './schema/canonical.ts';

/** What is only described differently: one change, which names the keywords. */
export function compareDocs(old: Located, now: Located, into: Comparison): void {
  if (!isMap(old.value) || !isMap(now.value)) return;
  const [before, after] = [old.value, now.value];
  const changed: string[] = [];
  for (const key of Object.keys(before)) if (isDocs(key) && !isEqual(before[key], after[key])) changed.push(key);
  for (const key of Object.keys(after)) if (isDocs(key) && before[key] === undefined) changed.push(key);
  if (changed.length === 0) return;
  into.changes.push({
    kind: 'docs',
    effect: 'changed',
    direction: undefined,
    name: changed.sort().join(', '),
    old,
    new: now,
  });
}
