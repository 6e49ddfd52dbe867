import type { Document, LineCounter } from 'yaml';
import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import type { Fault } from './fault.ts';
import type { Path } from './mask.ts';
import { expandScalar, protoFault, type Reading } from './readObject.ts';
import { faultAt, type Place, placeKey, type Source } from './source.ts';
import { documentFault, syntaxFault } from './yamlFaults.ts';
import { isNothing, openYaml, positionAt } from './yamlText.ts';

/** Reads the text of a routes.yaml, expands its variables and notes where everything stands. */
export function readYaml(text: string, file: string, folder: string, env: NodeJS.ProcessEnv): Reading {
  const places = new Map<string, Place>();
  const source: Source = { file, folder, tree: null, places };
  const opened = openYaml(text, source);
  if (Array.isArray(opened)) return refusal(source, opened);
  const { document, counter, complaints } = opened;
  if (!document) return refusal(source, [documentFault(source, 'empty')]);

  const walker: Walker = { document, counter, places, source, env, faults: [] };
  const tree = walk(walker, document.contents, []);
  const faults = complaints.map(([error, position]) => syntaxFault(source, error, position));
  return { source: { ...source, tree }, faults: [...faults, ...walker.faults], broken: false };
}

function refusal(source: Source, faults: Fault[]): Reading {
  return { source, faults, broken: true };
}

interface Walker {
  readonly document: Document.Parsed;
  readonly counter: LineCounter;
  readonly places: Map<string, Place>;
  readonly source: Source;
  readonly env: NodeJS.ProcessEnv;
  readonly faults: Fault[];
}

function walk(walker: Walker, node: Node | null, path: Path, key?: Node): unknown {
  const target = isAlias(node) ? node.resolve(walker.document) : node;
  const position = place(walker, node, path, key);
  if (position) walker.places.set(placeKey(path), position);
  if (isAlias(node) && !target) walker.faults.push(danglingAlias(walker.source, path));
  if (isSeq(target)) return target.items.map((item, index) => walk(walker, item as Node | null, [...path, index]));
  if (isMap(target)) return walkMap(walker, target.items as { key: Node; value: Node | null }[], path);
  if (!isScalar(target)) return null;
  if (typeof target.value !== 'string') return target.value;
  const scalar = expandScalar(target.value, target.type === 'PLAIN', walker.env);
  for (const { message, remedy } of scalar.problems) walker.faults.push(faultAt(walker.source, path, message, remedy));
  return scalar.value;
}

function walkMap(walker: Walker, items: { key: Node; value: Node | null }[], path: Path): Record<string, unknown> {
  const map: Record<string, unknown> = Object.create(null);
  for (const { key, value } of items) {
    const name: unknown = isScalar(key) ? key.value : undefined;
    const at = [...path, String(name ?? 'null')];
    if (typeof name !== 'string' || name === '__proto__') {
      const position = place(walker, value, at, key);
      if (position) walker.places.set(placeKey(at), position);
      walker.faults.push(name === '__proto__' ? protoFault(walker.source, path) : nonTextKey(walker.source, at));
    } else {
      map[name] = walk(walker, value, at, key);
    }
  }
  return map;
}

function danglingAlias(source: Source, path: Path): Fault {
  const remedy = 'Define it first, or put the value in quotes if it begins with an asterisk.';
  return faultAt(source, path, 'This alias has no anchor.', remedy);
}

function nonTextKey(source: Source, path: Path): Fault {
  return faultAt(source, path, 'A key has to be a text.', 'Write it in quotes, or remove it.', 'key');
}

/** A block that begins on a later line, and a value that is not there, stand where their key is. */
function place(walker: Walker, node: Node | null, path: Path, key?: Node): Place | undefined {
  const keyAt = key?.range ? positionAt(walker.counter, key.range[0]) : undefined;
  const isBlock = (isMap(node) || isSeq(node)) && node.flow !== true;
  const valueAt = node?.range && !isBlock && !isNothing(node) ? positionAt(walker.counter, node.range[0]) : keyAt;
  const fallback = node?.range && path.length > 0 ? positionAt(walker.counter, node.range[0]) : { line: 1, column: 1 };
  return { key: keyAt, value: valueAt ?? fallback };
}
