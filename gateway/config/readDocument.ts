import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { maskUserinfo, printable } from '../shared/text.ts';
import {
  type KeyAndValue,
  type Position,
  pairsOf,
  positionAt,
  positionOf,
  readYamlText,
  startOfNode,
  type YamlProblem,
  type YamlText,
} from '../shared/yaml/yamlText.ts';
import { ExpandedText, expand } from './expand.ts';
import { type Fault, type Path, pathInApi } from './fault.ts';
import { faultAt, faultAtKey, formatPath, type Place, placeKey, type Source } from './source.ts';

/** Reads the text of a routes.yaml, expands its variables and records the position of each value. */
export function readYaml(text: string, file: string, folder: string, env: NodeJS.ProcessEnv): Reading {
  const places = new Map<string, Place>();
  const quotedVariables = new Set<string>();
  const source: Source = { file, folder, tree: null, places, quotedVariables, env };
  const yaml = readYamlText(text);
  if (!yaml.isReadable) return { source, faults: yamlFaults(yaml, text, file), isBroken: true };
  if (!yaml.root) return { source, faults: [wholeFileFault(file, 'empty')], isBroken: true };
  const walker: Walker = { yaml, places, quotedVariables, source, faults: [] };
  const tree = walk(walker, yaml.root, []);
  const problems = yaml.problems.map((problem) => yamlFault(file, yaml, problem, pathAt(places, yaml, problem)));
  return { source: { ...source, tree }, faults: [...problems, ...walker.faults], isBroken: false };
}

interface Walker {
  readonly yaml: YamlText;
  readonly places: Map<string, Place>;
  readonly quotedVariables: Set<string>;
  readonly source: Source;
  readonly faults: Fault[];
}

function walk(walker: Walker, node: Node | null, path: Path, key?: Node | null): unknown {
  const { yaml, source, faults } = walker;
  const target = isAlias(node) ? yaml.aliases.get(node) : node;
  walker.places.set(placeKey(path), placeOf(walker, node, path, key));
  if (isSeq(target)) return target.items.map((item, index) => walk(walker, item as Node | null, [...path, index]));
  if (isMap(target)) return walkMap(walker, pairsOf(target), path);
  if (!isScalar(target)) return null;
  if (typeof target.value !== 'string') return target.value;
  const scalar = expandScalar(target.value, { isUnquoted: target.type === 'PLAIN' }, source.env);
  for (const { message, remedy } of scalar.problems) faults.push(faultAt(source, path, message, remedy));
  // `$$` is a dollar sign.
  const hasVariable = target.value.replaceAll('$$', '').includes('$');
  if (hasVariable && target.type !== 'PLAIN') walker.quotedVariables.add(placeKey(path));
  return scalar.value;
}

function walkMap(walker: Walker, pairs: readonly KeyAndValue[], path: Path): Record<string, unknown> {
  const { source, faults } = walker;
  const map: Record<string, unknown> = Object.create(null);
  for (const { key, value } of pairs) {
    const keyValue: unknown = isScalar(key) ? key.value : undefined;
    // In an adapter, keys may be statuses and values of contracts, such as 200 and true.
    const [section, , part] = pathInApi(path);
    const countsAsText = typeof keyValue === 'string' || (isScalar(key) && section === 'routes' && part === 'adapter');
    const name = countsAsText && isScalar(key) ? (key.source ?? String(keyValue)) : keyValue;
    const keyPath = [...path, String(name ?? 'null')];
    if (typeof name === 'string' && name !== '__proto__') {
      map[name] = walk(walker, value, keyPath, key);
      continue;
    }
    walker.places.set(placeKey(keyPath), placeOf(walker, value, keyPath, key));
    const remedy = 'Write it in quotes, or remove it.';
    faults.push(
      name === '__proto__' ? protoFault(source, path) : faultAtKey(source, keyPath, 'A key must be a text.', remedy),
    );
  }
  return map;
}

function placeOf({ yaml: { lines } }: Walker, node: Node | null, path: Path, key?: Node | null): Place {
  const fallback = node?.range && path.length > 0 ? positionAt(lines, node.range[0]) : { line: 1, column: 1 };
  return { key: startOfNode(lines, key), value: positionOf(lines, node, key) ?? fallback };
}

/** The faults of a text that cannot be parsed. */
export function yamlFaults(yaml: YamlText, text: string, file: string): Fault[] {
  // Within brackets, the parser reads the brace (\x7b) of `${NAME}` as the start of a map.
  const variableProblems = yaml.problems.filter(({ offset }) => text.startsWith('$\x7b', offset - 1));
  return variableProblems.length > 0
    ? variableProblems.map(({ offset }) => wholeFileFault(file, 'variable', positionAt(yaml.lines, offset)))
    : yaml.problems.map((problem) => yamlFault(file, yaml, problem));
}

export function yamlFault(file: string, yaml: YamlText, problem: YamlProblem, path: Path = []): Fault {
  return {
    file,
    ...positionAt(yaml.lines, problem.offset),
    path: printable(formatPath(path)),
    value: undefined,
    message: printable(maskUserinfo(`The file ${problem.message}.`)),
    remedy: problem.remedy,
  };
}

const wholeFileProblems = {
  empty: ['The file is empty.', 'Write at least one route, such as `routes: { /v1: http://127.0.0.1:3001 }`.'],
  encoding: ['The file is not UTF-8.', 'Save it as UTF-8.'],
  variable: [
    'The file is not YAML: within brackets, the brace of a variable begins a map.',
    'Put the variable in quotes.',
  ],
} as const;

export function wholeFileFault(
  file: string,
  kind: keyof typeof wholeFileProblems,
  position: Position = { line: 1, column: 1 },
): Fault {
  const [message, remedy] = wholeFileProblems[kind];
  return { file, ...position, path: '', value: undefined, message, remedy };
}

/** The path of the key or the value that has the problem; undefined for other kinds of problems. */
function pathAt(places: Source['places'], yaml: YamlText, { code, offset }: YamlProblem): Path | undefined {
  if (code !== 'DUPLICATE_KEY' && code !== 'ALIAS_WITHOUT_ANCHOR') return undefined;
  const { line, column } = positionAt(yaml.lines, offset);
  const isHere = (position?: Position): boolean => position?.line === line && position.column === column;
  const [foundKey] = [...places].find(([, { key, value }]) => isHere(key) || isHere(value)) ?? [];
  return foundKey === undefined ? undefined : (JSON.parse(foundKey) as Path);
}

export interface Reading {
  readonly source: Source;
  readonly faults: Fault[];
  /** Whether the text cannot be parsed. Then there are no further checks. */
  readonly isBroken: boolean;
}

/** Reads a plain object like a YAML document with the same values. Strings with a variable count as unquoted. */
export function readObject(document: unknown, folder: string, env: NodeJS.ProcessEnv): Reading {
  const faults: Fault[] = [];
  const source: Source = { file: undefined, folder, tree: undefined, places: new Map(), env };
  const ancestors = new Set<object>();

  const copy = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      const scalar = expandScalar(value, { isUnquoted: true }, env);
      faults.push(...scalar.problems.map(({ message, remedy }) => faultAt(source, path, message, remedy)));
      return scalar.value;
    }
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
    if (typeof value !== 'object' || ancestors.has(value) || !isPlain(value)) {
      faults.push(
        faultAt(source, path, 'This value cannot be written in YAML.', 'Give plain maps, lists and scalars.'),
      );
      return null;
    }
    ancestors.add(value);
    const result = Array.isArray(value)
      ? value.map((item, index) => copy(item, [...path, index]))
      : mapOf(
          Object.entries(value).filter(([, item]) => item !== undefined),
          path,
          faults,
          source,
          copy,
        );
    ancestors.delete(value);
    return result;
  };

  const tree = copy(document, []);
  return { source: { ...source, tree }, faults, isBroken: false };
}

function mapOf(
  entries: [string, unknown][],
  path: Path,
  faults: Fault[],
  source: Source,
  copy: (value: unknown, path: Path) => unknown,
): Record<string, unknown> {
  const result: Record<string, unknown> = Object.create(null);
  for (const [key, item] of entries) {
    if (key === '__proto__') faults.push(protoFault(source, path));
    else result[key] = copy(item, [...path, key]);
  }
  return result;
}

/** A fault for the key `__proto__`: assigning to it would change the prototype of the object. */
function protoFault(source: Source, path: Path): Fault {
  return faultAtKey(source, [...path, '__proto__'], '__proto__ cannot be a key.', 'Remove it.');
}

/** Expands the variables of a scalar. Unquoted text is an `ExpandedText`, whose `value` is read as YAML: `${N:-2}` is a number. */
function expandScalar(text: string, { isUnquoted }: { readonly isUnquoted: boolean }, env: NodeJS.ProcessEnv) {
  const expansion = expand(text, env);
  const value =
    expansion.hasDollar && isUnquoted
      ? new ExpandedText(expansion.text, valueOfUnquoted(expansion.text), text)
      : expansion.text;
  return { value, problems: expansion.problems };
}

function valueOfUnquoted(text: string): unknown {
  // Only numbers, booleans and null are read differently; other text might not even be YAML.
  if (!/^[-+.\w~]*$/.test(text)) return text;
  const { root } = readYamlText(text);
  if (root === null) return null;
  return isScalar(root) ? root.value : text;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || prototype === Object.prototype;
}
