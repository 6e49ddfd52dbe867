import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import {
  type KeyAndValue,
  pairsOf,
  positionOf,
  readYamlText,
  writtenText,
  type YamlText,
} from '../../shared/yaml/yamlText.ts';
import { isMergeKey } from '../../shared/yaml/yamlValue.ts';
import type { Fault } from '../fault.ts';
import { faultsOf, yamlFault } from '../readDocument.ts';
import { brief, faultIn } from './finding.ts';
import { interpolate, type Variables } from './interpolate.ts';
import { type ComposeEntry, type ComposeNode, entriesOf, type FilePosition, mapOf } from './node.ts';

// For the text of `${NAME:?text}`. It often contains a command that generates the value, and a part of a command is useless.
const longestReason = 400;

interface Walker {
  readonly file: string;
  readonly yaml: YamlText;
  readonly variables: Variables;
  readonly faults: Fault[];
  readonly missing: Fault[];
}

/** Reads one Compose file, replaces its variables and follows aliases and merge keys; no root for an empty file. */
export function parseCompose(text: string, file: string, variables: Variables) {
  const yaml = readYamlText(text);
  if (!yaml.isReadable) return { root: undefined, faults: faultsOf(yaml, text, file), missing: [] };
  // Compose has tags of its own, and others do not matter here.
  const problems = yaml.problems.filter(({ code }) => code !== 'TAG_RESOLVE_FAILED');
  const faults = problems.map((problem) => yamlFault(file, yaml, problem));
  const missing: Fault[] = [];
  if (!yaml.root) return { root: undefined, faults, missing };
  const walker: Walker = { file, yaml, variables, faults, missing };
  const root = walk(walker, yaml.root, positionIn(walker, yaml.root, { file, line: 1, column: 1 }));
  return { root, faults, missing };
}

function walk(walker: Walker, node: Node | null, at: FilePosition): ComposeNode {
  const target = isAlias(node) ? walker.yaml.aliases.get(node) : node;
  const tag = tagOf(target);
  if (isMap(target)) return walkMap(walker, pairsOf(target), at, tag);
  if (isSeq(target)) {
    const items = target.items.map((item) => walk(walker, item as Node, positionIn(walker, item as Node, at)));
    return { kind: 'list', items, at, tag };
  }
  if (!isScalar(target) || target.value === null) return { kind: 'scalar', text: undefined, unset: [], at, tag };
  // As it is written: 0x10, 1_000 and 3001 are texts here.
  const { text, unset, missing, problems } = interpolate(writtenText(target), walker.variables);
  const remedy = 'Set it in the environment of Compose or in .env; a plain dollar sign is written $$.';
  for (const problem of problems) walker.faults.push(faultIn(at, [], problem, remedy));
  for (const { name, reason } of missing) {
    const message = `The variable ${name} is required here, and it is not set.`;
    const wayOut = reason === '' ? remedy : `Text in the Compose file: ${brief(reason, longestReason)}`;
    walker.missing.push(faultIn(at, [], message, wayOut));
  }
  return { kind: 'scalar', text, unset, at, tag };
}

/** The keys of a map override those that `<<` merges into it; of several merged maps the first one counts. */
function walkMap(
  walker: Walker,
  pairs: readonly KeyAndValue[],
  at: FilePosition,
  tag: ComposeNode['tag'],
): ComposeNode {
  const merged = new Map<string, ComposeEntry>();
  const own = new Map<string, ComposeEntry>();
  for (const { key, value } of pairs) {
    const keyAt = positionIn(walker, key, at);
    const valueAt = positionOf(walker.yaml.lines, value, key);
    const node = walk(walker, value, valueAt ? { file: walker.file, ...valueAt } : keyAt);
    if (!isMergeKey(key)) own.set(isScalar(key) ? String(key.value) : '', { key: keyAt, value: node });
    else {
      const maps = node.kind === 'list' ? node.items : [node];
      for (const [inner, entry] of maps.flatMap(entriesOf)) if (!merged.has(inner)) merged.set(inner, entry);
    }
  }
  return mapOf([...merged, ...own], at, tag);
}

function positionIn({ file, yaml }: Walker, node: Node | null, otherwise: FilePosition): FilePosition {
  const position = positionOf(yaml.lines, null, node);
  return position ? { file, ...position } : otherwise;
}

function tagOf(node: Node | null | undefined): ComposeNode['tag'] {
  if (node?.tag === '!reset') return 'reset';
  return node?.tag === '!override' ? 'override' : undefined;
}
