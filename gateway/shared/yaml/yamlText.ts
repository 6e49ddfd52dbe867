import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Scalar,
  type YAMLError,
} from 'yaml';

/** A text as YAML: its nodes, what its aliases stand for, and what is wrong with it. */
export interface YamlText {
  /** Null for a text without content, and for one that cannot be read. */
  readonly root: Node | null;
  /** The node of each alias; an alias without an anchor is missing. */
  readonly aliases: ReadonlyMap<Alias, Node>;
  readonly lines: LineCounter;
  readonly problems: readonly YamlProblem[];
  /** False if it is not clear what the text means after one of the problems. */
  readonly isReadable: boolean;
}

export interface YamlProblem {
  /** The parser's code, such as `TAG_RESOLVE_FAILED`, or a code of this module in the same style. */
  readonly code: string;
  readonly offset: number;
  /** Printed after the name of the file: `is not YAML: …`. It quotes no value, which may be a secret. */
  readonly message: string;
  readonly remedy: string;
}

/** Line and column, from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface KeyAndValue {
  readonly key: Node | null;
  readonly value: Node | null;
}

// How many values a document may have after its aliases are followed: this multiple of the values in the text, or
// `allowedValues` if that is more.
const largestMultiple = 10;
const defaultAllowedValues = 10_000;

const harmlessCodes = ['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED'];

const remedies: Partial<Record<string, string>> = {
  TAB_AS_INDENT: 'Indent with spaces.',
  TAG_RESOLVE_FAILED: 'Remove the tag, or put the value in quotes if it begins with an exclamation mark.',
  BAD_SCALAR_START: 'Put the value in quotes.',
  BAD_INDENT: 'Indent the keys of one map alike, and close brackets and quotes.',
  BLOCK_IN_FLOW: 'Write a comma between two items in brackets.',
  MISSING_CHAR: 'Close the bracket or the quote, or write the missing comma or colon, with a space after it.',
};

/** Parses one YAML document. `allowedValues`: so many values are allowed after aliases are followed, however short the text is. */
export function readYamlText(text: string, allowedValues = defaultAllowedValues): YamlText {
  const lines = new LineCounter();
  const unreadable = (...problems: YamlProblem[]): YamlText => {
    return { root: null, aliases: new Map(), lines, problems, isReadable: false };
  };
  try {
    // The parser would compare each key of a map with every other one; `inspect` uses a set.
    const options = { prettyErrors: false, logLevel: 'silent', resolveKnownTags: false, uniqueKeys: false } as const;
    const documents = parseAllDocuments(text, { ...options, lineCounter: lines });
    // For a text without a document, the parser returns an object with the property `empty` instead of a list.
    const [first, second] = 'empty' in documents ? [] : documents;
    const errors = documents.flatMap((document): YAMLError[] => [...document.errors, ...document.warnings]);
    const exhausted = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
    if (exhausted) return unreadable(tooDeep(exhausted.pos[0]));
    const problems = errors.map(syntaxProblem);
    if (errors.some(({ code }) => !harmlessCodes.includes(code))) return unreadable(...problems);
    const root = first && !isMissing(first.contents) ? first.contents : null;
    if (root && second) return unreadable(secondDocument(second.range[0]));
    const inspection = new Inspection(allowedValues);
    inspection.inspect(root);
    if (inspection.fatal) return unreadable(inspection.fatal);
    problems.push(...inspection.problems);
    return { root, aliases: inspection.aliases, lines, problems, isReadable: true };
  } catch (error) {
    // The parser is recursive: brackets alone can overflow the stack.
    if (error instanceof RangeError) return unreadable(tooDeep(0));
    throw error;
  }
}

interface Anchor {
  readonly node: Node;
  /** How many values its node has; undefined until the node ends. */
  size: number | undefined;
}

/** Visits the nodes in the order of the text, because an alias refers to the last anchor of its name before it. */
class Inspection {
  readonly aliases = new Map<Alias, Node>();
  readonly problems: YamlProblem[] = [];
  /** The problem that ended the inspection. */
  fatal: YamlProblem | undefined;
  readonly #allowedValues: number;
  readonly #anchors = new Map<string, Anchor>();
  /** Values in the text so far; an alias counts as one. */
  #writtenValues = 0;
  /** Values so far, with the values that aliases stand for. */
  #followedValues = 0;

  constructor(allowedValues: number) {
    this.#allowedValues = allowedValues;
  }

  inspect(node: Node | null): void {
    if (this.fatal) return;
    this.#writtenValues += 1;
    this.#followedValues += 1;
    // Most nodes are scalars without an anchor.
    if (node === null || (isScalar(node) && node.anchor === undefined)) return;
    if (isAlias(node)) {
      this.#follow(node);
      return;
    }
    const name = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined;
    const anchor: Anchor | undefined = name === undefined ? undefined : { node, size: undefined };
    if (name !== undefined && anchor) this.#anchors.set(name, anchor);
    const followedBefore = this.#followedValues;
    if (isSeq(node)) for (const item of node.items) this.inspect(item as Node | null);
    else if (isMap(node)) this.#inspectMap(pairsOf(node));
    if (anchor) anchor.size = this.#followedValues - followedBefore + 1;
  }

  #follow(alias: Alias): void {
    const anchor = this.#anchors.get(alias.source);
    const offset = alias.range?.[0] ?? 0;
    if (!anchor) {
      const message = 'has an alias without an anchor';
      const anchorRemedy = 'Define the anchor first, or put the value in quotes if it begins with an asterisk.';
      this.problems.push({ code: 'ALIAS_WITHOUT_ANCHOR', offset, message, remedy: anchorRemedy });
      return;
    }
    this.aliases.set(alias, anchor.node);
    const remedy = 'Write the values out.';
    if (anchor.size === undefined) {
      const message = `has an alias within its own anchor: *${alias.source}`;
      this.fatal = { code: 'ALIAS_IN_ITSELF', offset, message, remedy };
      return;
    }
    this.#followedValues += anchor.size - 1;
    if (this.#followedValues > Math.max(this.#allowedValues, largestMultiple * this.#writtenValues)) {
      const message = 'has aliases that unfold to far more than the file itself';
      this.fatal = { code: 'ALIAS_BOMB', offset, message, remedy };
    }
  }

  #inspectMap(pairs: readonly KeyAndValue[]): void {
    const seenKeys = new Set<string>();
    for (const { key, value } of pairs) {
      this.inspect(key);
      const name = keyText(key, this.aliases);
      if (name !== undefined && seenKeys.has(name)) {
        const message = `has the key ${JSON.stringify(name.slice(0, 80))} here for the second time`;
        const offset = key?.range?.[0] ?? 0;
        this.problems.push({ code: 'DUPLICATE_KEY', offset, message, remedy: 'Keep one of the two.' });
      }
      if (name !== undefined) seenKeys.add(name);
      this.inspect(value);
    }
  }
}

export function pairsOf(map: Node & { readonly items: readonly unknown[] }): readonly KeyAndValue[] {
  return map.items as readonly KeyAndValue[];
}

/** A key as it is written: the keys `200`, `1.10` and `true` are texts. Undefined for a map, a list or an empty key. */
export function keyText(key: Node | null, aliases: YamlText['aliases']): string | undefined {
  const target = isAlias(key) ? aliases.get(key) : key;
  return isScalar(target) && (typeof target.value === 'string' || target.source) ? writtenText(target) : undefined;
}

/** A scalar as it is written, without its quotes. */
export function writtenText(scalar: Scalar): string {
  return typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? String(scalar.value));
}

/** Whether a key or a document has no value at all. */
export function isMissing(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.source === '' && node.type === 'PLAIN');
}

export function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

/** Where a value is. A block that begins on a later line, and a missing value, are where their key is. */
export function positionOf(lines: LineCounter, value: Node | null, key?: Node | null): Position | undefined {
  const isBlock = (isMap(value) || isSeq(value)) && value.flow !== true;
  return startOfNode(lines, value?.range && !isBlock && !isMissing(value) ? value : key);
}

export function startOfNode(lines: LineCounter, node: Node | null | undefined): Position | undefined {
  return node?.range ? positionAt(lines, node.range[0]) : undefined;
}

function syntaxProblem({ code, message, pos }: YAMLError): YamlProblem {
  // Removes what the parser quotes from the text. The quoted part begins after `word: `.
  const words = message.replace(/(?<=\w): .*$/s, '').replace(/\.$/, '');
  const remedy = remedies[code] ?? 'Correct the syntax.';
  return { code, offset: pos[0], message: `is not YAML: ${words}`, remedy };
}

function tooDeep(offset: number): YamlProblem {
  const message = 'is nested too deeply to be read';
  return { code: 'RESOURCE_EXHAUSTION', offset, message, remedy: 'Close the brackets that were left open.' };
}

function secondDocument(offset: number): YamlProblem {
  const message = 'has a second YAML document here';
  const remedy = 'Keep one document in each file, and remove the line `---`.';
  return { code: 'MULTIPLE_DOCS', offset, message, remedy };
}
