import { type Document, isAlias, isMap, isScalar, isSeq, type LineCounter, type Node as YamlNode } from 'yaml';
import type { Fault } from '../fault.ts';
import type { Source } from '../source.ts';
import { syntaxFault } from '../yamlFaults.ts';
import { isNothing, openYaml, positionAt } from '../yamlText.ts';
import { brief, faultIn } from './finding.ts';
import { interpolate, type Variables } from './interpolate.ts';
import { type ComposeEntry, type ComposeNode, entriesOf, type FilePosition, mapOf } from './node.ts';

// Room for a command that makes the value.
const longestSaying = 400;

interface Walker {
  readonly file: string;
  readonly document: Document.Parsed;
  readonly counter: LineCounter;
  readonly variables: Variables;
  readonly faults: Fault[];
  readonly missing: Fault[];
}

/** Reads one Compose file, replaces its variables and follows anchors and merge keys; undefined if it says nothing. */
export function parseCompose(text: string, file: string, variables: Variables) {
  const source: Source = { file, folder: '.', tree: null, places: new Map() };
  const opened = openYaml(text, source);
  if (Array.isArray(opened)) return { root: undefined, faults: opened, missing: [] };
  const { document, counter, complaints } = opened;
  // Compose has tags of its own, and nobody minds the others here.
  const faults = complaints
    .filter(([{ code }]) => code !== 'TAG_RESOLVE_FAILED')
    .map(([error, position]) => syntaxFault(source, error, position));
  if (!document) return { root: undefined, faults, missing: [] };
  const missing: Fault[] = [];
  const walker: Walker = { file, document, counter, variables, faults, missing };
  return {
    root: walk(walker, document.contents, spot(walker, document.contents, { file, line: 1, column: 1 })),
    faults,
    missing,
  };
}

function walk(walker: Walker, node: YamlNode | null, at: FilePosition): ComposeNode {
  const target = isAlias(node) ? node.resolve(walker.document) : node;
  if (isAlias(node) && !target) {
    const remedy = 'Define it first, or put the value in quotes if it begins with an asterisk.';
    walker.faults.push(faultIn(at, [], 'This alias has no anchor.', remedy));
  }
  const tag = tagOf(target);
  if (isMap(target)) return walkMap(walker, target.items as Pair[], at, tag);
  if (isSeq(target)) {
    const items = target.items.map((item) => walk(walker, item as YamlNode, spot(walker, item as YamlNode, at)));
    return { kind: 'list', items, at, tag };
  }
  if (!isScalar(target) || target.value === null) return { kind: 'scalar', text: undefined, unset: [], at, tag };
  // As it was written: 0x10 and 1_000 are texts to us, and so is 3001.
  const written = typeof target.value === 'string' ? target.value : (target.source ?? String(target.value));
  const { text, unset, missing, problems } = interpolate(written, walker.variables);
  const remedy = 'Set it in the environment of Compose or in .env; a plain dollar sign is written $$.';
  for (const problem of problems) walker.faults.push(faultIn(at, [], problem, remedy));
  for (const { name, says } of missing) {
    const message = `The variable ${name} is required here, and it is not set.`;
    walker.missing.push(
      faultIn(at, [], message, says === '' ? remedy : `The file says of it: ${brief(says, longestSaying)}`),
    );
  }
  return { kind: 'scalar', text, unset, at, tag };
}

interface Pair {
  readonly key: YamlNode;
  readonly value: YamlNode | null;
}

/** What stands in a map itself goes over what `<<` brings in, and of several maps the first counts. */
function walkMap(walker: Walker, pairs: readonly Pair[], at: FilePosition, tag: ComposeNode['tag']): ComposeNode {
  const merged = new Map<string, ComposeEntry>();
  const own = new Map<string, ComposeEntry>();
  for (const { key, value } of pairs) {
    const name = isScalar(key) ? String(key.value) : '';
    const keyAt = spot(walker, key, at);
    const isBlock = (isMap(value) || isSeq(value)) && value.flow !== true;
    const node = walk(walker, value, isBlock || isNothing(value) ? keyAt : spot(walker, value, keyAt));
    if (name !== '<<') own.set(name, { key: keyAt, value: node });
    else {
      const maps = node.kind === 'list' ? node.items : [node];
      for (const [inner, entry] of maps.flatMap(entriesOf)) if (!merged.has(inner)) merged.set(inner, entry);
    }
  }
  return mapOf([...merged, ...own], at, tag);
}

function spot(walker: Walker, node: YamlNode | null, otherwise: FilePosition): FilePosition {
  return node?.range ? { file: walker.file, ...positionAt(walker.counter, node.range[0]) } : otherwise;
}

function tagOf(node: YamlNode | null | undefined): ComposeNode['tag'] {
  if (node?.tag === '!reset') return 'reset';
  return node?.tag === '!override' ? 'override' : undefined;
}
