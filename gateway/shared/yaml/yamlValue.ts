import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import {
  type KeyAndValue,
  keyText,
  type Position,
  pairsOf,
  positionAt,
  readYamlText,
  type YamlText,
} from './yamlText.ts';

// A document may have this many values after its aliases are followed. Contracts of public APIs have fewer.
const allowedValueCount = 1_000_000;

/** The text cannot be read as a YAML value. The message follows the name of the file: `is not YAML: …`. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  readonly offset: number;
  readonly position: Position;
  readonly remedy: string;

  constructor(offset: number, message: string, remedy: string, lines?: YamlText['lines']) {
    super(message);
    this.offset = offset;
    this.position = lines ? positionAt(lines, offset) : { line: 1, column: 1 };
    this.remedy = remedy;
  }
}

/**
 * Reads a YAML document, which may have many MiB. The result consists of maps, lists and scalars. Applies merge keys. All
 * aliases of a value share one object. Any problem is an error, including an unknown tag such as `!include`.
 * @throws YamlError
 */
export function parseYaml(text: string): { readonly root: unknown; readonly yaml: YamlText } {
  const yaml = readYamlText(text, allowedValueCount);
  const [problem] = yaml.problems;
  if (problem) throw new YamlError(problem.offset, problem.message, problem.remedy, yaml.lines);
  try {
    return { root: new ValueReader(yaml).read(yaml.root), yaml };
  } catch (error) {
    if (error instanceof RangeError) {
      throw new YamlError(0, 'is nested too deeply to be read', 'Close the brackets that were left open.');
    }
    throw error;
  }
}

class ValueReader {
  readonly #yaml: YamlText;
  /** The values of the nodes with an anchor, for their aliases. */
  readonly #anchored = new Map<Node, unknown>();

  constructor(yaml: YamlText) {
    this.#yaml = yaml;
  }

  read(node: Node | null): unknown {
    if (node === null) return null;
    // Most nodes are scalars without an anchor.
    if (isScalar(node) && node.anchor === undefined) return node.value;
    // Each alias has an anchor here: `parseYaml` has thrown an error for an alias without one.
    if (isAlias(node)) return this.#anchored.get(this.#yaml.aliases.get(node) as Node);
    const value = this.#contentOf(node);
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) this.#anchored.set(node, value);
    return value;
  }

  #contentOf(node: Node): unknown {
    if (isSeq(node)) return node.items.map((item) => this.read(item as Node | null));
    if (isMap(node)) return this.#mapOf(pairsOf(node));
    return isScalar(node) ? node.value : null;
  }

  #mapOf(pairs: readonly KeyAndValue[]): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    const mergedMaps: Record<string, unknown>[] = [];
    for (const { key, value } of pairs) {
      // Registers an anchor of the key.
      this.read(key);
      const name = keyText(key, this.#yaml.aliases);
      if (name === undefined)
        throw this.#errorAt(key, 'has a key that is not a text', 'Write it as a text, or remove it.');
      const memberValue = this.read(value);
      if (isMergeKey(key)) mergedMaps.push(...this.#mapsToMerge(memberValue, key));
      else setMember(map, name, memberValue);
    }
    for (const mergedMap of mergedMaps) {
      for (const [name, value] of Object.entries(mergedMap)) if (!Object.hasOwn(map, name)) setMember(map, name, value);
    }
    return map;
  }

  #mapsToMerge(value: unknown, key: Node | null): Record<string, unknown>[] {
    const maps: unknown[] = Array.isArray(value) ? value : [value];
    return maps.map((map) => {
      if (typeof map === 'object' && map !== null && !Array.isArray(map)) return map as Record<string, unknown>;
      throw this.#errorAt(key, 'has a merge key whose value is not a map', 'Write a map after `<<:`.');
    });
  }

  #errorAt(node: Node | null, message: string, remedy: string): YamlError {
    return new YamlError(node?.range?.[0] ?? 0, message, remedy, this.#yaml.lines);
  }
}

/** `<<`. YAML 1.2 removed it, but programs that read OpenAPI documents still apply it. */
export function isMergeKey(key: Node | null): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN';
}

/** Sets a member. An assignment to `__proto__` would change the prototype instead. */
function setMember(map: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    map[name] = value;
  }
}
