import { parseYaml, YamlError } from '../../shared/yaml/yamlValue.ts';
import { CompareError } from '../failure.ts';
import { findJsonError } from './jsonSyntax.ts';
import type { ContractFile } from './located.ts';
import { positionAt } from './textPositions.ts';

// The JSON parser has no limit of its own, but the recursive functions that read its result would overflow the stack.
const maxDepth = 1000;
// A longer text that begins like JSON is not tried as YAML: the YAML parser would take seconds to reject it.
const maxAmbiguousLength = 2_000_000;

/** Parses JSON or YAML, whatever the extension of the file. @throws CompareError with line and column */
export function parseFile(name: string, text: string): ContractFile {
  try {
    const parsed = /^\s*\{/.test(text) ? parseBraces(text) : parseYaml(text);
    if (depthOf(parsed.root, 1) > maxDepth) throw tooDeep();
    return { name, text, ...parsed };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const { line, column } = positionAt(text, error.offset);
    throw new CompareError(`${name}:${line}:${column}`, error.message, error.remedy);
  }
}

/** Parses JSON, or YAML in flow style. If it is neither, the error that occurs later in the text is reported. */
function parseBraces(text: string): Pick<ContractFile, 'root' | 'yaml'> {
  try {
    return { root: JSON.parse(text) };
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
  }
  const jsonError = findJsonError(text);
  const asJson = new YamlError(jsonError?.offset ?? 0, `is not JSON: ${jsonError?.message}`, 'Correct the syntax.');
  if (text.length > maxAmbiguousLength) throw asJson;
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw error.offset > asJson.offset ? error : asJson;
  }
}

function tooDeep(): YamlError {
  return new YamlError(0, 'is nested too deeply to be read', 'Close the brackets that were left open.');
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
