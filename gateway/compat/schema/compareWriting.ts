import { isBytes } from './bytes.ts';
import { isEqual } from './canonical.ts';
import { compareDiscriminators } from './compareDiscriminators.ts';
import type { Pair } from './pair.ts';

/** How a value is written beside what it is: `xml`, texts that hold something else, and what tells alternatives apart. */
export function compareWriting(pair: Pair): void {
  const { old, new: now, context } = pair;
  if (context.wire === 'xml' && !isEqual(old.at('xml')?.value, now.at('xml')?.value)) {
    pair.found('structure', 'changed', 'xml', old.at('xml'), now.at('xml'));
  }
  compareNotations(pair);
  compareDiscriminators(pair);
}

/** Base64 in place of plain text is another notation for either side, whoever sends it. */
function compareNotations(pair: Pair): void {
  if (isBytes(pair.old, pair.context) && isBytes(pair.new, pair.context)) return;
  for (const keyword of ['contentEncoding', 'contentMediaType']) {
    const [old, now] = [pair.old.limits.texts.get(keyword), pair.new.limits.texts.get(keyword)];
    const isSame = [...(old?.is ?? [])].sort().join() === [...(now?.is ?? [])].sort().join();
    if (!isSame) pair.found('structure', 'changed', keyword, old?.at, now?.at);
  }
}
