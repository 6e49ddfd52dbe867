import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import { SourceError } from '../source/source.ts';

/** A YAML document, and what its aliases stand for. */
export interface YamlTree {
  readonly root: Node | null;
  readonly targets: ReadonlyMap<Alias, Node>;
}

/** What cannot be taken from a document, and where. */
export class YamlRefusal extends SourceError {
  readonly node: Node | null;

  constructor(node: Node | null, message: string, remedy: string) {
    super(message, remedy);
    this.node = node;
  }
}

// How many values a document may become once its aliases are followed: of those that are written, or at any rate.
const mostTimes = 10;
const mostAnyway = 1_000_000;

interface Anchored {
  readonly node: Node;
  /** Undefined until the node is closed. */
  done: { readonly value: unknown; readonly size: number } | undefined;
}

/**
 * Turns the nodes of a document into values, in the order in which they are written: an alias means the last anchor of
 * its name above it. What is aliased becomes one object, however often it is used.
 */
export class Unfolding {
  readonly targets = new Map<Alias, Node>();
  readonly #anchors = new Map<string, Anchored>();
  #written = 0;
  #unfolded = 0;

  /** @throws YamlRefusal */
  value(node: Node | null): unknown {
    this.#written += 1;
    this.#unfolded += 1;
    if (node === null) return null;
    if (isAlias(node)) return this.#aliased(node);
    const before = this.#unfolded;
    const anchored: Anchored = { node, done: undefined };
    const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, anchored);
    const value = this.#plain(node);
    anchored.done = { value, size: this.#unfolded - before };
    return value;
  }

  #plain(node: Node): unknown {
    if (isSeq(node)) return node.items.map((item) => this.value(item as Node | null));
    if (isMap(node)) return this.#map(node.items as { key: Node; value: Node | null }[]);
    return isScalar(node) ? node.value : null;
  }

  #aliased(alias: Alias): unknown {
    const anchored = this.#anchors.get(alias.source);
    if (!anchored) {
      const remedy = 'Define it above, or put the value in quotes if it begins with an asterisk.';
      throw new YamlRefusal(alias, `has an alias without an anchor: *${alias.source}`, remedy);
    }
    if (!anchored.done) {
      throw new YamlRefusal(alias, `has an alias within its own anchor: *${alias.source}`, 'Write the values out.');
    }
    this.targets.set(alias, anchored.node);
    this.#unfolded += anchored.done.size;
    if (this.#unfolded > Math.max(mostAnyway, mostTimes * this.#written)) {
      throw new YamlRefusal(alias, 'has aliases that unfold to far more than the file itself', 'Write the values out.');
    }
    return anchored.done.value;
  }

  #map(pairs: readonly { key: Node; value: Node | null }[]): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    const merged: Record<string, unknown>[] = [];
    const keys = new Set<string>();
    for (const { key, value } of pairs) {
      const name = this.#key(key);
      if (keys.has(name)) {
        const remedy = 'Keep one of the two.';
        throw new YamlRefusal(key, `has the key ${JSON.stringify(name)} here for the second time`, remedy);
      }
      keys.add(name);
      const inner = this.value(value);
      if (isMergeKey(key)) merged.push(...mergedMaps(inner, key));
      else put(map, name, inner);
    }
    for (const one of merged) {
      for (const [name, value] of Object.entries(one)) if (!Object.hasOwn(map, name)) put(map, name, value);
    }
    return map;
  }

  #key(key: Node | null): string {
    this.value(key);
    const target = isAlias(key) ? this.targets.get(key) : key;
    if (isScalar(target) && (typeof target.value === 'string' || target.source)) return keyText(target);
    throw new YamlRefusal(key, 'has a key that is no text', 'Write it as a text, or remove it.');
  }
}

/** As it is written: `200`, `1.10` and `true` are texts where they are keys. */
export function keyText(key: Scalar): string {
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
}

/** `<<`, which YAML 1.2 has no more, and every reader of contracts still follows. */
export function isMergeKey(key: Node): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN';
}

function mergedMaps(value: unknown, key: Node): Record<string, unknown>[] {
  const maps: unknown[] = Array.isArray(value) ? value : [value];
  return maps.map((map) => {
    if (typeof map === 'object' && map !== null && !Array.isArray(map)) return map as Record<string, unknown>;
    throw new YamlRefusal(key, 'merges something that is no map into another one', 'Name a map behind `<<:`.');
  });
}

/** An assignment would take `__proto__` for something else. */
function put(map: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    map[name] = value;
  }
}
