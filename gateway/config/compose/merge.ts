import { child, type Entry, entriesOf, itemsOf, type MapNode, mapOf, type Node, textOf } from './node.ts';

// Their lists are one value; a second one does not add to the first.
const whole = new Set(['command', 'entrypoint', 'test']);

/** Lays one Compose file, or one service, over another. */
export function mergeMaps(base: MapNode, over: MapNode): MapNode {
  const entries = new Map(base.entries);
  for (const [key, entry] of over.entries) {
    const below = base.entries.get(key);
    if (entry.value.tag === 'reset') entries.delete(key);
    else entries.set(key, below ? mergeEntries(below, entry, key) : entry);
  }
  return { ...base, entries };
}

/** What is replaced stands where its replacement does; what is added to stands where it began. */
function mergeEntries(below: Entry, over: Entry, key: string): Entry {
  const value = mergeNodes(below.value, over.value, key);
  return { key: value === over.value ? over.key : below.key, value };
}

function mergeNodes(base: Node, over: Node, key: string): Node {
  if (over.tag === 'override' || whole.has(key)) return over;
  if (base.kind === 'map' && over.kind === 'map') return mergeMaps(base, over);
  if (base.kind === 'list' && over.kind === 'list') {
    const mounted = new Set(over.items.map(mountPoint));
    const kept = key === 'volumes' ? base.items.filter((item) => !mounted.has(mountPoint(item))) : base.items;
    return { ...base, items: [...kept, ...over.items] };
  }
  // `networks: { back: }` over a `back` that says more.
  return textOf(over) === undefined && over.kind === 'scalar' ? base : over;
}

/** Where in the container a volume is. */
export function mountPoint(volume: Node): string {
  const target = textOf(child(volume, 'target'));
  if (target !== undefined) return target;
  const parts = (textOf(volume) ?? '').split(':');
  return parts[1] ?? parts[0] ?? '';
}

/** Keys that are a list or a map, as the maps that they mean. */
export function normaliseService(service: Node): Node {
  if (service.kind !== 'map') return service;
  const entries = [...service.entries].map(([key, entry]): [string, Entry] => {
    const split = key === 'environment' || key === 'labels' ? byEquals : byName;
    const isBoth = ['environment', 'labels', 'networks', 'depends_on'].includes(key);
    return [key, isBoth && entry.value.kind === 'list' ? { ...entry, value: asMap(entry.value, split) } : entry];
  });
  return mapOf(entries, service.at, service.tag);
}

function asMap(list: Node, split: (item: Node) => readonly (readonly [string, Entry])[]): MapNode {
  return mapOf(itemsOf(list).flatMap(split), list.at, list.tag);
}

/** `NAME=value`, or `NAME` alone. */
function byEquals(item: Node): readonly (readonly [string, Entry])[] {
  if (item.kind !== 'scalar' || item.text === undefined) return entriesOf(item);
  const at = item.text.indexOf('=');
  const name = at === -1 ? item.text : item.text.slice(0, at);
  return [[name, { key: item.at, value: { ...item, text: at === -1 ? undefined : item.text.slice(at + 1) } }]];
}

function byName(item: Node): readonly (readonly [string, Entry])[] {
  if (item.kind !== 'scalar' || item.text === undefined) return [];
  return [[item.text, { key: item.at, value: { ...item, text: undefined } }]];
}
