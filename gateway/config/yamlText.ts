import { type Document, isScalar, LineCounter, type Node, type ParsedNode, parseAllDocuments } from 'yaml';
import { aliasBomb } from './aliasBomb.ts';
import type { Fault } from './fault.ts';
import type { Position, Source } from './source.ts';
import { type Complaint, documentFault, isBareVariable, isFatal, syntaxFault } from './yamlFaults.ts';

/** A text that is YAML beyond doubt, and whose aliases can be followed. */
export interface YamlText {
  /** Undefined for a file in which nothing stands. */
  readonly document: Document.Parsed | undefined;
  readonly counter: LineCounter;
  /** What leaves no doubt about the rest: keys that are there twice, tags that nobody knows. */
  readonly complaints: readonly (readonly [Complaint, Position])[];
}

/** Faults where nothing more can be said about the text; `source` only names the file. */
export function openYaml(text: string, source: Source): YamlText | Fault[] {
  const counter = new LineCounter();
  const documents = parse(text, counter);
  if (documents === 'deep') return [documentFault(source, 'deep')];
  const [first, second] = documents;
  const found = documents.flatMap((document): Complaint[] => [...document.errors, ...document.warnings]);
  const complaints = found.map((error) => [error, positionAt(counter, error.pos[0])] as const);
  const variables = complaints.filter(([error]) => isBareVariable(error, text));
  if (found.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) return [documentFault(source, 'deep')];
  if (variables.length > 0) return variables.map(([, position]) => documentFault(source, 'variable', position));
  if (found.some(isFatal)) return complaints.map(([error, position]) => syntaxFault(source, error, position));
  if (!first || isNothing(first.contents)) return { document: undefined, counter, complaints };
  if (second) return [documentFault(source, 'several', positionAt(counter, second.range[0]))];
  const bomb = aliasBomb(first);
  if (bomb) return [documentFault(source, bomb, firstAlias(text, first, counter))];
  return { document: first, counter, complaints };
}

/** A key without a value, too. */
export function isNothing(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.source === '' && node.type === 'PLAIN');
}

export function positionAt(counter: LineCounter, offset: number): Position {
  const { line, col } = counter.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function parse(text: string, lineCounter: LineCounter): readonly Document.Parsed<ParsedNode>[] | 'deep' {
  try {
    const documents = parseAllDocuments(text, {
      lineCounter,
      prettyErrors: false,
      logLevel: 'silent',
      resolveKnownTags: false,
    });
    return 'empty' in documents ? [] : documents;
  } catch (error) {
    // The parser is recursive: a file of nothing but brackets ends its stack.
    if (error instanceof RangeError) return 'deep';
    throw error;
  }
}

function firstAlias(text: string, document: Document.Parsed, counter: LineCounter): Position {
  const alias = /\*[^\s,\]}]+/.exec(text.slice(document.range[0]));
  return positionAt(counter, document.range[0] + (alias?.index ?? 0));
}
