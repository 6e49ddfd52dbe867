import { CompareError } from '../failure.ts';
import { jsonFault } from './jsonFault.ts';
import type { ContractFile } from './located.ts';
import { parseYaml, SyntaxRefusal, tooDeep } from './parseYaml.ts';
import { positionAt } from './textPositions.ts';

// The parser of JSON would go on for ever, but who walks through what it made would not.
const deepest = 1000;
// A longer text that begins like JSON is not tried as YAML: it would take seconds to say that it is neither.
const longestGuess = 2_000_000;

/** Reads JSON or YAML, whatever the file is called. @throws CompareError with line and column */
export function parseFile(name: string, text: string): ContractFile {
  try {
    const parsed = /^\s*\{/.test(text) ? parseBraces(text) : parseYaml(text);
    if (depthOf(parsed.root, 1) > deepest) throw tooDeep(0);
    return { name, text, ...parsed };
  } catch (error) {
    if (!(error instanceof SyntaxRefusal)) throw error;
    const { line, column } = positionAt(text, error.offset);
    throw new CompareError(`${name}:${line}:${column}`, error.message, error.remedy);
  }
}

/** JSON, or YAML that is written in braces; if it is neither, the one that it is for longer. */
function parseBraces(text: string): Pick<ContractFile, 'root' | 'yaml'> {
  try {
    return { root: JSON.parse(text) };
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(0);
  }
  const fault = jsonFault(text);
  const asJson = new SyntaxRefusal(fault?.offset ?? 0, `is not JSON: ${fault?.message}`, 'Correct the syntax.');
  if (text.length > longestGuess) throw asJson;
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof SyntaxRefusal)) throw error;
    throw error.offset > asJson.offset ? error : asJson;
  }
}

/** How many maps and lists stand within each other; beyond the limit it is not counted any more. */
function depthOf(value: unknown, level: number): number {
  if (level > deepest || typeof value !== 'object' || value === null) return level;
  let most = level;
  for (const key in value) {
    const inner: unknown = value[key as keyof typeof value];
    if (typeof inner !== 'object' || inner === null) continue;
    const depth = depthOf(inner, level + 1);
    if (depth > most) most = depth;
  }
  return most;
}
