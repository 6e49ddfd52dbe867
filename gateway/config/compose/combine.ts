import { resolve } from 'node:path';
import type { Fault } from '../fault.ts';
import {
  type ComposeEntry,
  type ComposeNode,
  child,
  entriesOf,
  itemsOf,
  type MapNode,
  mapOf,
  textOf,
  textsOf,
} from './node.ts';
import { type ComposeFile, envFile, type Reader, variablesIn } from './reader.ts';
import { faultIn, listed } from './rule.ts';

/** The file with every `extends` replaced by what it stands for. */
export function extended(file: ComposeFile, reader: Reader): MapNode {
  const services = entriesOf(child(file.root, 'services')).map(([name, entry]): [string, ComposeEntry] => [
    name,
    entry.value.kind === 'map' ? { ...entry, value: extend(name, entry.value, file, reader, []) } : entry,
  ]);
  const { key, value } = file.root.entries.get('services') ?? { key: file.root.at, value: file.root };
  return mapOf(
    [...file.root.entries, ['services', { key, value: mapOf(services, value.at, value.tag) }]],
    file.root.at,
  );
}

function extend(name: string, service: MapNode, file: ComposeFile, reader: Reader, trail: readonly string[]): MapNode {
  const entry = service.entries.get('extends');
  if (!entry) return service;
  const path = ['services', name, 'extends'];
  const baseName = textOf(entry.value) ?? textOf(child(entry.value, 'service')) ?? '';
  const elsewhere = textOf(child(entry.value, 'file'));
  const from = elsewhere === undefined ? file : reader.readFrom(file, elsewhere, entry.key);
  // What is wrong with the other file has been said.
  if (!from) return service;
  const step = `${from.folder}:${elsewhere ?? ''}:${baseName}`;
  const services = child(from.root, 'services');
  const base = child(services, baseName);
  if (trail.includes(step) || (trail.length === 0 && from === file && baseName === name)) {
    reader.faults.push(faultIn(entry.key, path, 'This service extends itself in the end.', 'Break the circle.'));
    return service;
  }
  if (base?.kind !== 'map') {
    const remedy = `Name one of ${listed(entriesOf(services).map(([other]) => other))}.`;
    reader.faults.push(faultIn(entry.key, path, `There is no service ${baseName} to extend.`, remedy, baseName));
    return service;
  }
  const whole = extend(baseName, base, from, reader, [...trail, step]);
  // The whole service is still where its own name stands.
  return { ...mergeMaps(whole, service), at: service.at };
}

type Follow = (file: ComposeFile, trail: readonly string[]) => MapNode;

/** What a file includes, each entry as one map; nothing is fetched from other hosts. */
export function included(
  file: ComposeFile,
  reader: Reader,
  warnings: Fault[],
  trail: readonly string[],
  follow: Follow,
): readonly MapNode[] {
  return itemsOf(child(file.root, 'include')).flatMap((item) => {
    const paths = item.kind === 'map' ? itemsOf(child(item, 'path')) : [item];
    const roots = paths.flatMap((path) => {
      const name = textOf(path) ?? '';
      const absolute = resolve(file.folder, name);
      if (/^[a-z+]+:|^git@|\.git(?:#|$)/i.test(name)) {
        warnings.push(
          faultIn(path.at, ['include'], 'Files on other hosts are not followed.', 'Check them here as files.'),
        );
        return [];
      }
      if (trail.includes(absolute)) {
        reader.faults.push(faultIn(path.at, ['include'], 'This file includes itself in the end.', 'Break the circle.'));
        return [];
      }
      const inner = open(file, reader, item, name, path);
      return inner ? [follow(inner, [...trail, absolute])] : [];
    });
    const [first, ...others] = roots;
    return first ? [others.reduce((below, over) => mergeMaps(below, over), first)] : [];
  });
}

/** An included project has an `.env` of its own, and what is set around it goes over that. */
function open(
  file: ComposeFile,
  reader: Reader,
  item: ComposeNode,
  name: string,
  path: ComposeNode,
): ComposeFile | undefined {
  const folder = resolve(file.folder, textOf(child(item, 'project_directory')) ?? resolve(file.folder, name, '..'));
  const said = textsOf(child(item, 'env_file')).map((env) => envFile(resolve(file.folder, env)));
  const below = said.length > 0 ? Object.assign({}, ...said) : {};
  const variables = said.length > 0 ? { ...below, ...file.variables } : variablesIn(folder, file.variables);
  const inner = reader.readFrom(file, name, path.at, variables);
  return inner && { ...inner, folder };
}

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
function mergeEntries(below: ComposeEntry, over: ComposeEntry, key: string): ComposeEntry {
  const value = mergeNodes(below.value, over.value, key);
  return { key: value === over.value ? over.key : below.key, value };
}

function mergeNodes(base: ComposeNode, over: ComposeNode, key: string): ComposeNode {
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
export function mountPoint(volume: ComposeNode): string {
  const target = textOf(child(volume, 'target'));
  if (target !== undefined) return target;
  const parts = (textOf(volume) ?? '').split(':');
  return parts[1] ?? parts[0] ?? '';
}

/** Keys that are a list or a map, as the maps that they mean. */
export function normaliseService(service: ComposeNode): ComposeNode {
  if (service.kind !== 'map') return service;
  const entries = [...service.entries].map(([key, entry]): [string, ComposeEntry] => {
    const split = key === 'environment' || key === 'labels' ? byEquals : byName;
    const isBoth = ['environment', 'labels', 'networks', 'depends_on'].includes(key);
    return [key, isBoth && entry.value.kind === 'list' ? { ...entry, value: asMap(entry.value, split) } : entry];
  });
  return mapOf(entries, service.at, service.tag);
}

function asMap(list: ComposeNode, split: (item: ComposeNode) => readonly (readonly [string, ComposeEntry])[]): MapNode {
  return mapOf(itemsOf(list).flatMap(split), list.at, list.tag);
}

/** `NAME=value`, or `NAME` alone. */
function byEquals(item: ComposeNode): readonly (readonly [string, ComposeEntry])[] {
  if (item.kind !== 'scalar' || item.text === undefined) return entriesOf(item);
  const at = item.text.indexOf('=');
  const name = at === -1 ? item.text : item.text.slice(0, at);
  return [[name, { key: item.at, value: { ...item, text: at === -1 ? undefined : item.text.slice(at + 1) } }]];
}

function byName(item: ComposeNode): readonly (readonly [string, ComposeEntry])[] {
  if (item.kind !== 'scalar' || item.text === undefined) return [];
  return [[item.text, { key: item.at, value: { ...item, text: undefined } }]];
}
