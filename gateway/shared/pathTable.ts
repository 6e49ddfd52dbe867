import { setImmediate } from 'node:timers/promises';

/** A segment of a path template that has parameters. */
interface SegmentPattern {
  /** The text before, between and after the parameters: one more than there are names. */
  readonly literals: readonly string[];
  readonly names: readonly string[];
}

const parameterPattern = /\{([^{}]*)\}/g;

/**
 * The path without its final slash: `/drinks/` becomes `/drinks`. Nearly all backends answer both in the same way, or redirect from
 * one to the other (docs/decisions/0035). The root stays `/`.
 */
export function withoutFinalSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** `drinks/7` and `/drinks/7` have the same segments. */
export function segmentsOf(path: string): string[] {
  return path.slice(path.startsWith('/') ? 1 : 0).split('/');
}

// Patterns are compiled once. The cache is limited, because every edit of a contract may add new ones.
const patterns = new Map<string, SegmentPattern | undefined>();
const maxPatterns = 10_000;

/** The pattern of a template's segment; undefined if it has no parameter. */
export function segmentPattern(segment: string): SegmentPattern | undefined {
  if (!segment.includes('{')) return undefined;
  const cached = patterns.get(segment);
  if (cached !== undefined || patterns.has(segment)) return cached;
  const pattern = compilePattern(segment);
  if (patterns.size >= maxPatterns) patterns.clear();
  patterns.set(segment, pattern);
  return pattern;
}

function compilePattern(segment: string): SegmentPattern | undefined {
  const names = [...segment.matchAll(parameterPattern)].map(([, name = '']) => name);
  return names.length === 0 ? undefined : { names, literals: segment.split(/\{[^{}]*\}/) };
}

/**
 * The values of a segment's parameters, none of them empty; undefined if it does not match. Searches each literal once,
 * from the end of the previous one: a regular expression could take exponential time on a path that a client chooses.
 */
export function valuesIn(segment: string, { literals }: SegmentPattern): string[] | undefined {
  const [first = '', ...nextLiterals] = literals;
  if (!segment.startsWith(first)) return undefined;
  const values: string[] = [];
  let at = first.length;
  for (const [index, literal] of nextLiterals.entries()) {
    const isLast = index === nextLiterals.length - 1;
    const end = isLast ? segment.length - literal.length : segment.indexOf(literal, at + 1);
    if (end <= at || !segment.startsWith(literal, end)) return undefined;
    values.push(segment.slice(at, end));
    at = end + literal.length;
  }
  return values;
}

/**
 * The template `to` with the parameter values of `path`, which matches the template `from`. A parameter of `to` takes the value of
 * the parameter of `from` with the same name. If there is no such parameter, the parameter of `to` takes the value of the next
 * parameter of `from` whose name is not in `to`. If there is none either, the result is undefined.
 */
export function translatePath(path: string, from: string, to: string): string | undefined {
  return pathTranslation(from, to)?.(path);
}

/** The template `to` with the parameter names of the template `from`. Undefined: as for `translatePath`. */
export function translateTemplate(from: string, to: string): string | undefined {
  return translatePath(from, from, to);
}

/** `translatePath` for many paths. Undefined: `translatePath` is undefined for each path. */
export function pathTranslation(from: string, to: string): ((path: string) => string) | undefined {
  const fromNames = segmentsOf(from).flatMap((segment) => segmentPattern(segment)?.names ?? []);
  const toNames = [...to.matchAll(parameterPattern)].map(([, name = '']) => name);
  if (toNames.length === 0) return () => to;
  const indexesWithoutSameName = [...fromNames.keys()].filter((index) => !toNames.includes(fromNames[index] as string));
  const indexByName = new Map([...fromNames.entries()].map(([index, name]) => [name, index]));
  for (const name of toNames) {
    const index = indexByName.get(name) ?? indexesWithoutSameName.shift();
    if (index === undefined) return undefined;
    indexByName.set(name, index);
  }
  const indexes = toNames.map((name) => indexByName.get(name) as number);
  const literals = to.split(/\{[^{}]*\}/);
  return (path) => {
    const values = parameterValuesOf(path, from);
    let translated = literals[0] as string;
    for (let at = 0; at < indexes.length; at += 1) {
      translated += (values[indexes[at] as number]?.[1] ?? '') + literals[at + 1];
    }
    return translated;
  };
}

/** The values of the parameters of `template` in `path`, which matches it. */
export function parameterValuesOf(path: string, template: string): [name: string, value: string][] {
  const segments = segmentsOf(path);
  return segmentsOf(template).flatMap((segment, index) => {
    const pattern = segmentPattern(segment);
    const found = (pattern && valuesIn(segments[index] ?? '', pattern)) ?? [];
    return found.map((value, position): [string, string] => [pattern?.names[position] ?? '', value]);
  });
}

/** `/v1/drinks` → `/drinks`: some contracts repeat the segment of their own version in their paths, `v1`. */
export function withoutVersion(path: string, segment: string): string {
  if (path === `/${segment}`) return '/';
  return path.startsWith(`/${segment}/`) ? path.slice(segment.length + 1) : path;
}

const sliceMs = 4;

/**
 * Path templates (`/drinks/{id}`) with values, looked up by a concrete path. A trie of segments, so that the cost of a
 * look-up hardly depends on the number of templates.
 */
export class PathTable<Value> {
  readonly #root: Node<Value> = emptyNode();
  readonly #entries: [template: string, value: Value][] = [];
  #hasFinalSlashes = false;

  constructor(entries: Iterable<readonly [template: string, value: Value]> = []) {
    for (const [template, value] of entries) this.#add(template, value);
    Object.freeze(this);
  }

  /** Like the constructor for large tables: lets the event loop run every few milliseconds. */
  static async inSlices<Value>(
    entries: Iterable<readonly [template: string, value: Value]>,
  ): Promise<PathTable<Value>> {
    const table = new PathTable<Value>();
    let sliceEndsAt = performance.now() + sliceMs;
    for (const [template, value] of entries) {
      table.#add(template, value);
      if (performance.now() < sliceEndsAt) continue;
      await setImmediate();
      sliceEndsAt = performance.now() + sliceMs;
    }
    return table;
  }

  get size(): number {
    return this.#entries.length;
  }

  entries(): readonly (readonly [template: string, value: Value])[] {
    return this.#entries;
  }

  /**
   * The entry whose template matches `path` (no query). Segments with more literal text are tried first (OpenAPI 3.1 §4.8.8):
   * `/drinks/mine`, then `/drinks/{id}.json`, then `/drinks/{id}`. If no template matches, a template that differs by its final slash
   * does: `/drinks/7/` is the same resource as `/drinks/7`.
   */
  find(path: string): PathMatch<Value> | undefined {
    if (this.#entries.length === 0) return undefined;
    const found = descend(this.#root, segmentsOf(path), 0)?.matchFor(path);
    if (found !== undefined || path.length < 2) return found;
    if (!path.endsWith('/') && !this.#hasFinalSlashes) return undefined;
    const otherForm = path.endsWith('/') ? path.slice(0, -1) : `${path}/`;
    return descend(this.#root, segmentsOf(otherForm), 0)?.matchFor(otherForm);
  }

  #add(template: string, value: Value): void {
    if (template.length > 1 && template.endsWith('/')) this.#hasFinalSlashes = true;
    let node = this.#root;
    for (const segment of segmentsOf(template)) node = childFor(node, segment);
    // If two templates match the same paths, the first one counts.
    node.matchFor ??= (path) => ({ template, value, path });
    this.#entries.push([template, value]);
  }
}

interface PathMatch<Value> {
  readonly template: string;
  readonly value: Value;
  /** The path that was looked up, with a final slash only if the template has one. */
  readonly path: string;
}

interface Node<Value> {
  /** A segment without parameters → the node of the rest of the path. */
  readonly literal: Map<string, Node<Value>>;
  /** Parameters with text around them: `{id}.json`. */
  readonly mixed: { readonly pattern: SegmentPattern; readonly node: Node<Value> }[];
  parameter: Node<Value> | undefined;
  matchFor: ((path: string) => PathMatch<Value>) | undefined;
}

/** A node at which a path may end. */
type TerminalNode<Value> = Node<Value> & { readonly matchFor: NonNullable<Node<Value>['matchFor']> };

function emptyNode<Value>(): Node<Value> {
  return { literal: new Map(), mixed: [], parameter: undefined, matchFor: undefined };
}

function childFor<Value>(node: Node<Value>, segment: string): Node<Value> {
  const pattern = segmentPattern(segment);
  if (pattern === undefined) {
    const child = node.literal.get(segment) ?? emptyNode<Value>();
    node.literal.set(segment, child);
    return child;
  }
  const shape = pattern.literals.join('\0');
  // A parameter without text around it has two empty literals.
  if (shape === '\0') {
    node.parameter ??= emptyNode<Value>();
    return node.parameter;
  }
  const sameShape = node.mixed.find(({ pattern: { literals } }) => literals.join('\0') === shape);
  if (sameShape) return sameShape.node;
  const child = emptyNode<Value>();
  node.mixed.push({ pattern, node: child });
  node.mixed.sort((a, b) => b.pattern.literals.join('').length - a.pattern.literals.join('').length);
  return child;
}

function descend<Value>(
  node: Node<Value>,
  segments: readonly string[],
  depth: number,
): TerminalNode<Value> | undefined {
  const segment = segments[depth];
  if (segment === undefined) return isTerminal(node) ? node : undefined;
  const literal = node.literal.get(segment);
  const found = literal && descend(literal, segments, depth + 1);
  if (found) return found;
  for (const { pattern, node: child } of node.mixed) {
    const below = valuesIn(segment, pattern) ? descend(child, segments, depth + 1) : undefined;
    if (below) return below;
  }
  // A parameter is never empty: `/drinks/` does not match `/drinks/{id}`.
  return node.parameter && segment !== '' ? descend(node.parameter, segments, depth + 1) : undefined;
}

function isTerminal<Value>(node: Node<Value>): node is TerminalNode<Value> {
  return node.matchFor !== undefined;
}
