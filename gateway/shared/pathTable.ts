/**
 * Path templates (`/drinks/{id}`) with a value each, looked up by a concrete path.
 * A trie by segment, so that a look-up costs the depth of the path and not the number of templates.
 */
export class PathTable<Value> {
  readonly #root: Node<Value> = { literal: new Map(), parameter: undefined, template: undefined, value: undefined };
  readonly #entries: [template: string, value: Value][] = [];

  constructor(entries: Iterable<readonly [template: string, value: Value]> = []) {
    for (const [template, value] of entries) this.#add(template, value);
    Object.freeze(this);
  }

  get size(): number {
    return this.#entries.length;
  }

  entries(): readonly (readonly [template: string, value: Value])[] {
    return this.#entries;
  }

  /**
   * The row whose template fits `path` (no query), or undefined. A literal segment is preferred to a parameter,
   * as OpenAPI 3.1 §4.8.8 asks: `/drinks/mine` before `/drinks/{id}`.
   */
  find(path: string): PathMatch<Value> | undefined {
    if (this.#entries.length === 0) return undefined;
    const segments = segmentsOf(path);
    const node = descend(this.#root, segments, 0);
    return node?.template === undefined ? undefined : { template: node.template, value: node.value as Value, segments };
  }

  #add(template: string, value: Value): void {
    let node = this.#root;
    for (const segment of segmentsOf(template)) node = childFor(node, segment);
    node.template ??= template;
    node.value = value;
    this.#entries.push([template, value]);
  }
}

export interface PathMatch<Value> {
  readonly template: string;
  readonly value: Value;
  /** The segments of the path that was looked up. */
  readonly segments: readonly string[];
}

interface Node<Value> {
  readonly literal: Map<string, Node<Value>>;
  parameter: Node<Value> | undefined;
  template: string | undefined;
  value: Value | undefined;
}

const parameter = /\{([^{}]*)\}/;

/** `{id}`, and also OpenAPI's `{id}.json`, which we take as a parameter as a whole. */
export function isParameter(segment: string): boolean {
  return parameter.test(segment);
}

export function segmentsOf(path: string): string[] {
  return path.slice(path.startsWith('/') ? 1 : 0).split('/');
}

/**
 * Writes the values that `match` found for the parameters of its template into `template`.
 * Parameters are matched by name, or by position where a name is not in the old template.
 * Returns undefined when `template` has a parameter that has no value.
 */
export function fill(template: string, match: PathMatch<unknown>): string | undefined {
  const values = new Map<string, string>();
  const inOrder: string[] = [];
  for (const [index, segment] of segmentsOf(match.template).entries()) {
    const name = parameter.exec(segment)?.[1];
    const value = match.segments[index];
    if (name === undefined || value === undefined) continue;
    values.set(name, value);
    inOrder.push(value);
  }
  let position = 0;
  let complete = true;
  const filled = template.replace(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const value = values.get(name) ?? inOrder[position];
    position += 1;
    if (value === undefined) complete = false;
    return value ?? '';
  });
  return complete ? filled : undefined;
}

function childFor<Value>(node: Node<Value>, segment: string): Node<Value> {
  const create = (): Node<Value> => ({
    literal: new Map(),
    parameter: undefined,
    template: undefined,
    value: undefined,
  });
  if (isParameter(segment)) {
    node.parameter ??= create();
    return node.parameter;
  }
  const existing = node.literal.get(segment);
  if (existing) return existing;
  const child = create();
  node.literal.set(segment, child);
  return child;
}

function descend<Value>(node: Node<Value>, segments: readonly string[], depth: number): Node<Value> | undefined {
  const segment = segments[depth];
  if (segment === undefined) return node.template === undefined ? undefined : node;
  const literal = node.literal.get(segment);
  const found = literal && descend(literal, segments, depth + 1);
  if (found) return found;
  // An empty segment is no value: `/drinks/` is not `/drinks/{id}`.
  return node.parameter && segment !== '' ? descend(node.parameter, segments, depth + 1) : undefined;
}
