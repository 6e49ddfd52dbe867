import { parseYaml, YamlError } from '../../shared/yaml/yamlValue.ts';
import { CompareError } from '../failure.ts';
import { findJsonError } from './jsonSyntax.ts';
import type { ContractFile } from './located.ts';
import { positionAt } from './positions.ts';

// The JSON parser has no limit of its own, but the recursive functions that read its result would overflow the stack.
const maxDepth = 1000;
// A longer text that begins like JSON is not tried as YAML: the YAML parser would take seconds to reject it.
const maxAmbiguousLength = 2_000_000;

type ParsedText = Pick<ContractFile, 'root' | 'yaml'>;

interface ParseProblem {
  readonly offset: number;
  /** A predicate: "is not JSON: …". */
  readonly message: string;
  readonly remedy: string;
}

const tooDeep: ParseProblem = {
  offset: 0,
  message: 'is nested too deeply to be read',
  remedy: `Use at most ${maxDepth} levels of maps and lists.`,
};

/** Parses JSON or YAML, whatever the extension of the file. @throws CompareError with line and column */
export function parseFile(name: string, text: string): ContractFile {
  let parsed = /^\s*\{/.test(text) ? parseBraces(text) : tryYaml(text);
  if ('root' in parsed && depthOf(parsed.root, 1) > maxDepth) parsed = tooDeep;
  if ('root' in parsed) return { name, text, ...parsed };
  const { line, column } = positionAt(text, parsed.offset);
  throw new CompareError(`${name}:${line}:${column}`, parsed.message, parsed.remedy);
}

/** Parses JSON, or YAML in flow style. If it is neither, the problem that occurs later in the text is reported. */
function parseBraces(text: string): ParsedText | ParseProblem {
  try {
    return { root: JSON.parse(text) };
  } catch (error) {
    if (error instanceof RangeError) return tooDeep;
  }
  const { offset, message } = findJsonError(text) ?? { offset: 0, message: 'it cannot be parsed' };
  const asJson = { offset, message: `is not JSON: ${message}`, remedy: 'Correct the syntax.' };
  if (text.length > maxAmbiguousLength) return asJson;
  const asYaml = tryYaml(text);
  return 'root' in asYaml || asYaml.offset > offset ? asYaml : asJson;
}

function tryYaml(text: string): ParsedText | ParseProblem {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof YamlError) return error;
    throw error;
  }
}

/** How deeply maps and lists are nested. Stops counting above the limit. */
function depthOf(value: unknown, level: number): number {
  if (level > maxDepth || typeof value !== 'object' || value === null) return level;
  let deepest = level;
  for (const key in value) {
    const inner: unknown = value[key as keyof typeof value];
    if (typeof inner !== 'object' || inner === null) continue;
    const depth = depthOf(inner, level + 1);
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}
