import type { z } from 'zod';
import { Expanded } from './expand.ts';
import type { Fault } from './fault.ts';
import { type Path, show } from './mask.ts';
import { nameOfType, type ScalarIssue } from './schema/scalar.ts';
import { type Draft, routesFile } from './schema.ts';
import { faultAt, type Source, valueAt } from './source.ts';

type Issue = z.core.$ZodIssue;

const blank: ScalarIssue = { predicate: 'is wrong', remedy: 'Correct it.', mismatch: false };

/**
 * Checks types and fills in defaults. What is wrong is reported and then left out, so that the rules can go on
 * and find the other faults; a rule asks the source whether a key is missing or was merely wrong.
 */
export function typed(source: Source): { draft: Draft; faults: Fault[] } {
  const faults: Fault[] = [];
  let tree = source.tree;
  // Leaving something out can only bring up what stood behind it, so this ends; the bound is a seat belt.
  for (let round = 0; round < 1000; round += 1) {
    const result = routesFile.safeParse(tree);
    if (result.success) return { draft: result.data, faults };
    const issues = result.error.issues.flatMap((issue) => flatten(issue, []));
    faults.push(...issues.flatMap((issue) => toFault(source, issue)));
    const wrong = issues.flatMap((issue) => wrongPaths(tree, issue));
    tree = wrong.reduce<unknown>(without, tree);
  }
  throw new Error('The schema refuses a document from which all faults have been taken.');
}

/** An issue of a union becomes those of the one form that was meant, if that can be told. */
function flatten(issue: Issue, parent: Path): Issue[] {
  const path = [...parent, ...(issue.path as (string | number)[])];
  if (issue.code !== 'invalid_union') return [{ ...issue, path }];
  const meant = issue.errors.filter((branch) => !branch.some((inner) => inner.path.length === 0 && isMismatch(inner)));
  const [only, other] = meant;
  if (only && !other) return only.flatMap((inner) => flatten(inner, path));
  return [{ ...issue, path }];
}

function isMismatch(issue: Issue): boolean {
  if (issue.code === 'custom') return issue.params?.['mismatch'] === true;
  if (issue.code === 'invalid_union') return issue.errors.every((branch) => branch.some(isMismatch));
  return issue.code === 'invalid_type' || issue.code === 'invalid_value';
}

function toFault(source: Source, issue: Issue): Fault[] {
  // Said, with a suggestion, by the rule on unknown keys.
  if (issue.code === 'unrecognized_keys') return [];
  const path = issue.path as Path;
  const found = valueAt(source.tree, path);
  const subject = show(found, path) ?? nameOf(path);
  const { predicate, remedy } = words(issue, found);
  return [faultAt(source, path, `${subject} ${predicate}.`, remedy)];
}

function nameOf(path: Path): string {
  const last = path.at(-1) ?? 'The file';
  return typeof last === 'number' ? 'This entry' : last;
}

function words(issue: Issue, found: unknown): { predicate: string; remedy: string } {
  if (issue.code === 'custom') {
    const { predicate, remedy } = { ...blank, ...issue.params };
    return { predicate, remedy };
  }
  const predicate = found === undefined ? 'is missing' : `is ${nameOfType(found)}`;
  if (issue.code === 'invalid_union') return { predicate, remedy: `Write ${issue.message}.` };
  if (issue.code === 'too_small')
    return { predicate: 'has no entries', remedy: 'Write at least one, or remove the key.' };
  const wanted = issue.code === 'invalid_type' && issue.expected === 'array' ? 'a list' : 'a map';
  return { predicate, remedy: `Write ${wanted}.` };
}

/** What has to go: the value itself, or the map that lacks a key it must have. */
function wrongPaths(tree: unknown, issue: Issue): Path[] {
  const path = issue.path as (string | number)[];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...path, key]);
  return [valueAt(tree, path) === undefined ? path.slice(0, -1) : path];
}

/** A copy without what stands at `path`. A list goes as a whole, lest the rest of it be taken for other entries. */
function without(tree: unknown, path: Path): unknown {
  const [key, ...rest] = path;
  if (key === undefined || typeof key === 'number') return undefined;
  if (typeof tree !== 'object' || tree === null || tree instanceof Expanded || Array.isArray(tree)) return undefined;
  if (!Object.hasOwn(tree, key)) return tree;
  const copy: Record<string, unknown> = Object.assign(Object.create(null), tree);
  const inner = rest.length === 0 ? undefined : without(copy[key], rest);
  if (inner === undefined) delete copy[key];
  else copy[key] = inner;
  return copy;
}
