import type { Change } from '../change.ts';
import type { Held } from './held.ts';
import type { Pair } from './pair.ts';
import { isAnything } from './reach.ts';
import type { View } from './view.ts';

/** The items of arrays: those at the front that have a schema of their own, and the rest. */
export function compareItems(pair: Pair): void {
  const { old, new: now } = pair;
  const count = Math.max(old.prefixItems.length, now.prefixItems.length);
  for (let index = 0; index < count; index += 1) {
    const [before, after] = [itemAt(old, index), itemAt(now, index)];
    compareGuarantee(pair, index, before, after);
    if (before && after) pair.held({ kind: 'items', text: `[${index}]` }, before, after);
    else if (before || after) pair.found('limit', after ? 'narrower' : 'wider', 'prefixItems', before?.at, after?.at);
  }
  const [before, after] = [old.items, now.items];
  if (before && after) pair.held({ kind: 'items', text: '[]' }, before, after);
  else if (after && !isAnything(after.schema.view)) pair.found('type', 'narrower', 'items', undefined, after.at);
  else if (before && !isAnything(before.schema.view)) pair.found('type', 'wider', 'items', before.at, undefined);
}

/** An answer that was always long enough to have an item may now be without it. */
function compareGuarantee({ context, into, old, new: now }: Pair, index: number, before?: Held, after?: Held): void {
  const [least, leastNow] = [old, now].map(({ limits }) => limits.counts.get('minItems')?.is ?? 0);
  const isKept = after !== undefined && (leastNow ?? 0) > index;
  if (context.direction === 'request' || before === undefined || (least ?? 0) <= index || isKept) return;
  const change: Change = {
    kind: 'presence',
    effect: 'optional',
    direction: 'response',
    name: '',
    old: before.at,
    new: after?.at,
  };
  into.parts.push({
    step: { kind: 'items', text: `[${index}]` },
    comparison: { changes: [change], parts: [], isDone: true },
  });
}

function itemAt(view: View, index: number): View['items'] {
  return view.prefixItems[index] ?? view.items;
}
