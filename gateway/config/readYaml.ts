import type { Document } from 'yaml';
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type ParsedNode, parseAllDocuments } from 'yaml';
import { aliasBomb } from './aliasBomb.ts';
import type { Fault } from './fault.ts';
import type { Path } from './mask.ts';
import { expandScalar, protoFault, type Reading } from './readObject.ts';
import { faultAt, type Place, type Position, placeKey, type Source } from './source.ts';
import { type Complaint, documentFault, isBareVariable, isFatal, syntaxFault } from './yamlFaults.ts';

/** Reads the text of a routes.yaml, expands its variables and notes where everything stands. */
export function readYaml(text: string, file: string, folder: string, env: NodeJS.ProcessEnv): Reading {
  const counter = new LineCounter();
  const places = new Map<string, Place>();
  const source: Source = { file, folder, tree: null, places };
  const documents = parse(text, counter);
  if (typeof documents === 'string') return refusal(source, [documentFault(source, documents)]);
  const [first, second] = documents;
  const complaints = documents.flatMap((document): Complaint[] => [...document.errors, ...document.warnings]);
  const explained = complaints.map((error) => [error, positionAt(counter, error.pos[0])] as const);
  const faults = (): Fault[] => explained.map(([error, position]) => syntaxFault(source, error, position));
  const variables = explained.filter(([error]) => isBareVariable(error, text));
  if (complaints.some(({ code }) => code === 'RESOURCE_EXHAUSTION'))
    return refusal(source, [documentFault(source, 'deep')]);
  if (variables.length > 0)
    return refusal(
      source,
      variables.map(([, position]) => documentFault(source, 'variable', position)),
    );
  if (complaints.some(isFatal)) return refusal(source, faults());
  if (!first || isNothing(first.contents)) return refusal(source, [documentFault(source, 'empty')]);
  if (second) return refusal(source, [documentFault(source, 'several', positionAt(counter, second.range[0]))]);
  const bomb = aliasBomb(first);
  if (bomb) return refusal(source, [documentFault(source, bomb, firstAlias(text, first, counter))]);

  const walker: Walker = { document: first, counter, places, source, env, faults: [] };
  const tree = walk(walker, first.contents, []);
  return { source: { ...source, tree }, faults: [...faults(), ...walker.faults], broken: false };
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

function isNothing(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.source === '' && node.type === 'PLAIN');
}

function positionAt(counter: LineCounter, offset: number): Position {
  const { line, col } = counter.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function parse(text: string, lineCounter: LineCounter): Document.Parsed<ParsedNode>[] | 'empty' | 'deep' {
  try {
    const documents = parseAllDocuments(text, {
      lineCounter,
      prettyErrors: false,
      logLevel: 'silent',
      resolveKnownTags: false,
    });
    return 'empty' in documents ? 'empty' : documents;
  } catch (error) {
    // The parser is recursive: a file of nothing but brackets ends its stack.
    if (error instanceof RangeError) return 'deep';
    throw error;
  }
}

function firstAlias(text: string, document: Document.Parsed, counter: LineCounter): Position {
  const alias = /\*[^\s,\]}]+/.exec(text.slice(document.range[0]));
  return positionAt(counter, document.range[0] + (alias?.index ?? 0));
}
