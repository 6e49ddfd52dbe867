import { faultIn, listed } from './finding.ts';
import { mergeMaps } from './merge.ts';
import { child, type Entry, entriesOf, type MapNode, mapOf, textOf } from './node.ts';
import type { ComposeFile, Reader } from './reader.ts';

/** The file with every `extends` replaced by what it stands for. */
export function extended(file: ComposeFile, reader: Reader): MapNode {
  const services = entriesOf(child(file.root, 'services')).map(([name, entry]): [string, Entry] => [
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
