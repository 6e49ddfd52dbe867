import { type Document, isAlias, isMap, isScalar, isSeq, type LineCounter, type Node, parseDocument } from 'yaml';
import { Expanded, expand } from './expand.ts';
import type { Fault, Path } from './fault.ts';
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

export interface Reading {
  readonly source: Source;
  readonly faults: Fault[];
  /** The text could not be parsed as a whole, so that nothing more can be said about it. */
  readonly broken: boolean;
}

/** Takes a plain object for what its YAML would be. Strings with an expansion count as unquoted. */
export function readObject(document: unknown, folder: string, env: NodeJS.ProcessEnv): Reading {
  const faults: Fault[] = [];
  const around: Source = { file: undefined, folder, tree: undefined, places: new Map() };
  const open = new Set<object>();

  const copy = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      const scalar = expandScalar(value, true, env);
      faults.push(...scalar.problems.map(({ message, remedy }) => faultAt(around, path, message, remedy)));
      return scalar.value;
    }
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
    if (typeof value !== 'object' || open.has(value) || !isPlain(value)) {
      faults.push(
        faultAt(around, path, 'This is not something that YAML can say.', 'Give plain maps, lists and scalars.'),
      );
      return null;
    }
    open.add(value);
    const result = Array.isArray(value)
      ? value.map((item, index) => copy(item, [...path, index]))
      : mapOf(
          Object.entries(value).filter(([, item]) => item !== undefined),
          path,
          faults,
          around,
          copy,
        );
    open.delete(value);
    return result;
  };

  const tree = copy(document, []);
  return { source: { ...around, tree }, faults, broken: false };
}

function mapOf(
  entries: [string, unknown][],
  path: Path,
  faults: Fault[],
  around: Source,
  copy: (value: unknown, path: Path) => unknown,
): Record<string, unknown> {
  const result: Record<string, unknown> = Object.create(null);
  for (const [key, item] of entries) {
    if (key === '__proto__') faults.push(protoFault(around, path));
    else result[key] = copy(item, [...path, key]);
  }
  return result;
}

/** A key that no object may have: as a plain assignment it would change the object's prototype instead. */
export function protoFault(source: Source, path: Path): Fault {
  return faultAt(source, [...path, '__proto__'], 'There is no key __proto__.', 'Remove it.', 'key');
}

/** A scalar's text with its variables; without quotes it is read as YAML once more, so that `${N:-2}` is a number. */
export function expandScalar(text: string, unquoted: boolean, env: NodeJS.ProcessEnv) {
  const expansion = expand(text, env);
  const value =
    expansion.changed && unquoted ? new Expanded(expansion.text, resolve(expansion.text), text) : expansion.text;
  return { value, problems: expansion.problems };
}

function resolve(text: string): unknown {
  // Only numbers, booleans and null have another reading; anything else might not even be YAML.
  if (!/^[-+.\w~]*$/.test(text)) return text;
  const value: unknown = parseDocument(text, { logLevel: 'silent' }).toJS();
  return typeof value === 'object' && value !== null ? text : value;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || prototype === Object.prototype;
}
