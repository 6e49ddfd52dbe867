import type { Located } from '../document/located.ts';
import { canonical } from './canonical.ts';
import { isSentAsText, type Pair } from './pair.ts';
import type { View } from './view.ts';

/** `enum`, `const` and `default`. */
export function compareValues(pair: Pair): void {
  const { old, new: now } = pair;
  if (old.values && now.values) {
    const asSent = isSentAsText(pair.context) ? withoutQuotes : same;
    const [were, are] = [old.values, now.values].map((values) => new Set([...values.keys()].map(asSent)));
    const removed = [...old.values.keys()].filter((value) => !are?.has(asSent(value)));
    const added = [...now.values.keys()].filter((value) => !were?.has(asSent(value)));
    if (removed.length > 0) pair.found('value', 'removed', listed(removed), listOf(old), listOf(now));
    if (added.length > 0) pair.found('value', 'added', listed(added), listOf(old), listOf(now));
  } else if (now.values) {
    // A list that leaves out nothing that was possible is none.
    if (!isAllOf(now.values, old.types))
      pair.found('values', 'listed', listed([...now.values.keys()]), undefined, listOf(now));
  } else if (old.values && !isAllOf(old.values, now.types)) {
    pair.found('values', 'unlisted', listed([...old.values.keys()]), listOf(old), undefined);
  }
  if (pair.context.direction === 'request' && textOf(old.at('default')?.value) !== textOf(now.at('default')?.value)) {
    pair.found('default', 'changed', '', old.at('default'), now.at('default'));
  }
}

function withoutQuotes(text: string): string {
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}

function same(text: string): string {
  return text;
}

function listOf(view: View): Located | undefined {
  return view.at('enum') ?? view.at('const');
}

function textOf(value: unknown): string {
  return value === undefined ? '' : canonical(value);
}

function isAllOf(values: ReadonlyMap<string, unknown>, types: ReadonlySet<string> | undefined): boolean {
  return types?.size === 1 && types.has('boolean') && values.has('true') && values.has('false');
}

function listed(values: readonly string[]): string {
  const shown = values.slice(0, 5).map((value) => `\`${withoutQuotes(value)}\``);
  return values.length > 5 ? `${shown.join(', ')} and ${values.length - 5} more` : shown.join(', ');
}
