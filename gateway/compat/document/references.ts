import { type ContractFile, isList, isMap, ownValue, refOf } from './located.ts';

/** What the `$ref`s of a file name in front of their `#`, but for its own `$id`s: all other files that it may lead to. */
export function filesNamedIn(file: ContractFile): Set<string> {
  const names = new Set<string>();
  const own = new Set<unknown>();
  const seen = new Set<unknown>();
  const waiting: unknown[] = [file.root];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if ((!isMap(value) && !isList(value)) || seen.has(value)) continue;
    seen.add(value);
    const name = refOf(value)?.split('#', 1)[0];
    if (name) names.add(name);
    if (isMap(value)) own.add(ownValue(value, '$id'));
    for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) waiting.push(inner);
  }
  return new Set([...names].filter((name) => schemeOf(name) === undefined || !own.has(name)));
}

/** Whether a reference brings its own scheme: `https:`, `file:`, `urn:`. */
export function schemeOf(reference: string): string | undefined {
  return /^([a-z][a-z\d+.-]*):/i.exec(reference)?.[1]?.toLowerCase();
}

export function isOnTheWeb(reference: string): boolean {
  return ['http', 'https'].includes(schemeOf(reference) ?? '');
}
