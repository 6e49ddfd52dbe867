import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { type Import, importsOf } from './imports.ts';

/** The source files below a folder, and the imports between them. */
export interface ImportGraph {
  readonly files: readonly string[];
  /** Imports of one file by another in the folder, each pair once. An import of types only is marked. */
  readonly edges: readonly Import[];
  readonly lines: ReadonlyMap<string, number>;
}

/** Reads every `.ts` and `.js` file below `folder`. */
export function readImportGraph(folder: string): ImportGraph {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[jt]s$/.test(entry.name) && !entry.parentPath.includes('node_modules'))
    .map((entry) => normalize(join(entry.parentPath, entry.name)))
    .sort();
  const known = new Set(files);
  const lines = new Map(files.map((file) => [file, readFileSync(file, 'utf8').trimEnd().split('\n').length]));
  return { files, edges: files.flatMap((file) => edgesFrom(file, known)), lines };
}

/** The higher the figure, the more often a reader must open another file. */
export function edgesPerThousandLines({ edges, lines }: ImportGraph): number {
  const total = [...lines.values()].reduce((sum, count) => sum + count, 0);
  return (edges.length / total) * 1000;
}

/** Files below `limit` lines that exactly one other file imports: candidates to merge into that file. */
export function smallSingleImporterFiles({ files, edges, lines }: ImportGraph, limit: number): string[] {
  const importers = new Map<string, number>();
  for (const { to } of edges) importers.set(to, (importers.get(to) ?? 0) + 1);
  return files.filter((file) => importers.get(file) === 1 && (lines.get(file) ?? 0) < limit);
}

/** The import cycles that a depth-first search finds, each as `a → b → a`. */
export function importCycles({ files, edges }: ImportGraph, { types }: { readonly types: boolean }): string[] {
  const imported = targetsByFile(edges.filter((edge) => types || !edge.typeOnly));
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      found.push([...path.slice(path.indexOf(file)), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const to of imported.get(file) ?? []) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of files) walk(file, []);
  return found;
}

/** The longest path of imports that remain at run time. @throws RangeError if they form a cycle. */
export function longestChain({ files, edges }: ImportGraph): string[] {
  const imported = targetsByFile(edges.filter((edge) => !edge.typeOnly));
  const known = new Map<string, string[]>();
  const chainFrom = (file: string): string[] => {
    const before = known.get(file);
    if (before) return before;
    const chains = (imported.get(file) ?? []).map(chainFrom);
    const chain = [file, ...longestOf(chains)];
    known.set(file, chain);
    return chain;
  };
  return longestOf(files.map(chainFrom));
}

function longestOf(chains: readonly string[][]): string[] {
  return chains.reduce((longest, chain) => (chain.length > longest.length ? chain : longest), []);
}

/** The files that each file imports. */
function targetsByFile(edges: readonly Import[]): Map<string, string[]> {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to]);
  return targets;
}

/** Two imports of the same file, such as one for types, count as one edge. */
function edgesFrom(file: string, known: ReadonlySet<string>): Import[] {
  const edges = new Map<string, Import>();
  for (const one of importsOf(file)) {
    if (!known.has(one.to) || one.to === file) continue;
    const before = edges.get(one.to);
    edges.set(one.to, { ...one, typeOnly: one.typeOnly && (before?.typeOnly ?? true) });
  }
  return [...edges.values()];
}
