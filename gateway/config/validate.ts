import { resolve } from 'node:path';
import type { z } from 'zod';
import { baseOf, idIn, idOfReference, rootBase, segmentOf } from './api.ts';
import { apiSources, headOf } from './apiSource.ts';
import { buildSnapshot } from './build.ts';
import { type ParsedContracts, readContract } from './contracts.ts';
import { ExpandedText } from './expand.ts';
import { byPlace, type Fault, type Path, quotedValue } from './fault.ts';
import { lastChangeOf } from './location.ts';
import type { Reading } from './readDocument.ts';
import { ReferencedFiles } from './referencedFiles.ts';
import { isPrefix } from './rules/routes.ts';
import type { RouteEntry, RuleContext } from './rules/rule.ts';
import { intendedKeys } from './rules/unknownKeys.ts';
import { rules, warnings } from './rules.ts';
import { nameOfType, type ScalarIssue } from './schema/scalar.ts';
import { apiHead, type ConfigValues, jsonSchema, routesFile } from './schema.ts';
import type { Snapshot } from './snapshot.ts';
import { faultAt, type Source, valueAt } from './source.ts';

/** A snapshot, or the faults of the document. */
export interface ConfigResult {
  /** The document, for later checks. Undefined if there is no snapshot. */
  readonly source?: Source;
  readonly snapshot: Snapshot | undefined;
  /** In the order of the lines. */
  readonly faults: readonly Fault[];
  /** In the order of the lines; the file works, but probably not as intended. */
  readonly warnings: readonly Fault[];
}

export interface ValidationOptions {
  /** False if a version may be without an upstream. */
  readonly needsUpstreams?: boolean | undefined;
  /** Contracts that were parsed before; new ones are added. */
  readonly parsed?: ParsedContracts | undefined;
  /** The file that the document comes from, absolute. */
  readonly file?: string;
}

/** Checks a document, and builds the snapshot if it has no fault. `now`: epoch ms. */
export function validate(
  { source, faults, isBroken }: Reading,
  now: number,
  options: ValidationOptions = {},
): ConfigResult {
  const { needsUpstreams = true, parsed, file } = options;
  if (isBroken) return refusal(faults);
  if (!isMap(source.tree)) {
    return refusal(
      faults.length > 0 ? faults : [faultAt(source, [], 'The file is not a map.', 'Begin it with `routes:`.')],
    );
  }
  const { context, typeFaults } = contextsOf(source, parsed);
  const contexts = [...context.apis.values()];
  const applicableRules = Object.entries(rules).filter(([name]) => needsUpstreams || name !== 'no-target');
  const ruleFaults = contexts.map((one) => applicableRules.flatMap(([, rule]) => rule(one, now)));
  // An unset variable or a misspelt key is one fault. The value that is missing because of it is not reported again.
  const reportedPaths = new Set([
    ...faults.map(({ path }) => path).filter((path) => path !== ''),
    ...(context.schema ? intendedKeys(source, context.schema) : []),
  ]);
  const furtherFaults = withoutInherited([typeFaults[0] ?? [], ruleFaults[0] ?? []].flat(), [
    ...typeFaults.slice(1),
    ...ruleFaults.slice(1),
  ]).filter(({ path }) => !reportedPaths.has(path));
  const allFaults = [...faults, ...furtherFaults];
  if (allFaults.length > 0) return refusal(allFaults);
  const referencedFiles = context.files.digests().map(([name]) => name);
  const changeTimes =
    file === undefined ? [] : [file, ...referencedFiles].map(lastChangeOf).filter((at) => at !== undefined);
  // The clock of a file system may be ahead.
  const filesChangedAt = changeTimes.length === 0 ? now : Math.min(now, Math.max(...changeTimes));
  const snapshot = buildSnapshot(context, filesChangedAt);
  const [ownWarnings = [], ...warningsOfApis] = contexts.map((one) => warnings(one, now));
  return { source, snapshot, faults: [], warnings: withoutInherited(ownWarnings, warningsOfApis).sort(byPlace) };
}

/** The faults of the gateway's file, and those of the APIs. A fault in a value that APIs inherit is reported once. */
function withoutInherited(own: readonly Fault[], ofApis: readonly (readonly Fault[])[]): Fault[] {
  const textOf = ({ path, message }: Fault): string => `${path}\n${message}`;
  const known = new Set(own.map(textOf));
  const further = ofApis.flat().filter((fault) => {
    const isKnown = known.has(textOf(fault));
    if (!fault.path.startsWith('apis.')) known.add(textOf(fault));
    return !isKnown;
  });
  return [...own, ...further];
}

/** An `ExpandedText` object is a text with variables, and not a map. */
function isMap(tree: unknown): boolean {
  return typeof tree === 'object' && tree !== null && !Array.isArray(tree) && !(tree instanceof ExpandedText);
}

function refusal(faults: readonly Fault[]): ConfigResult {
  return { snapshot: undefined, faults: faults.toSorted(byPlace), warnings: [] };
}

interface Contexts {
  /** The context of the API at the root. */
  readonly context: RuleContext;
  /** The faults of the API at the root, and of each other API. */
  readonly typeFaults: readonly (readonly Fault[])[];
}

function contextsOf(source: Source, parsed?: ParsedContracts): Contexts {
  const apis = new Map<string, RuleContext>();
  const files = new ReferencedFiles();
  const checks = [source, ...apiSources(source)].map((one) => {
    const { api } = one;
    const check = checkTypes({ ...one, tree: withoutValueAt(one.tree, ['apis']) ?? {} }, routesFile);
    const head = api && checkTypes({ ...one, tree: headOf(api.tree) }, apiHead);
    return { one, check, head, isAccepted: check.isAccepted && (head?.isAccepted ?? true) };
  });
  // Building the schema takes about 5 % of the CPU time of a start.
  const schema = checks.every(({ isAccepted }) => isAccepted) ? undefined : jsonSchema();
  const [root] = checks.map(({ one, check: { config }, head }): RuleContext => {
    const base = one.api?.base ?? rootBase;
    const entries = entriesOf(config.routes, base);
    const contracts = entries.flatMap(({ key, route: { contract } }) => {
      if (!contract) return [];
      const file = resolve(source.folder, contract.file);
      return [[key, readContract(file, contract.publish, key.slice(1), files, parsed)] as const];
    });
    const context: RuleContext = {
      source: one,
      base,
      apis,
      // The rule for unknown keys looks at the whole file.
      schema: one.api ? undefined : schema,
      config,
      entries,
      files,
      head: head?.config,
      contracts: new Map(contracts),
    };
    apis.set(base, context);
    return context;
  });
  if (!root) throw new Error('A file without the API at the root.');
  return { context: root, typeFaults: checks.map(({ check, head }) => [...check.faults, ...(head?.faults ?? [])]) };
}

function entriesOf(routes: ConfigValues['routes'], base: string): RouteEntry[] {
  return Object.entries(routes)
    .filter(([key]) => isPrefix(key))
    .map(([key, route]): RouteEntry => {
      const name = idIn(base, key.slice(1));
      // `/orders/v2` is `/v2` for the API itself.
      const successor = route.successor && idOfReference(base, route.successor);
      const isOwn = successor !== undefined && baseOf(successor) === base;
      const normal = isOwn ? { ...route, successor: `/${segmentOf(successor)}` } : route;
      return { key, name, major: Number(key.slice(2)), route: normal };
    })
    .sort((a, b) => a.major - b.major);
}

interface TypeCheck<Values> {
  /** The document with defaults and without the wrong values. */
  readonly config: Values;
  readonly faults: readonly Fault[];
  /** No value has a wrong type, and no key is unknown. Unknown keys are not among the faults. */
  readonly isAccepted: boolean;
}

type Issue = z.core.$ZodIssue;

const unspecificIssue: ScalarIssue = { predicate: 'is wrong', remedy: 'Correct it.', isWrongType: false };

/**
 * Checks types and fills in defaults. A wrong value is reported and left out, so that the rules can find further faults;
 * with `hasValue(source, path)` a rule can distinguish a missing key from a wrong value.
 */
function checkTypes<Values>(source: Source, form: z.ZodType<Values>): TypeCheck<Values> {
  const faults: Fault[] = [];
  let tree = source.tree;
  // Each round removes a part of the document, so the loop ends; the limit is a safeguard.
  for (let round = 0; round < 1000; round += 1) {
    // zod would compile the schema to functions, which does not pay off for one file.
    const result = form.safeParse(tree, { jitless: true });
    if (result.success) return { config: result.data, faults, isAccepted: round === 0 };
    const issues = result.error.issues.flatMap((issue) => flattenUnion(issue, []));
    faults.push(...issues.flatMap((issue) => toFault(source, issue)));
    const pathsToRemove = issues.flatMap((issue) => wrongPaths(tree, issue));
    tree = pathsToRemove.reduce<unknown>(withoutValueAt, tree);
  }
  throw new Error('The schema rejects the document even after all wrong values were removed.');
}

/** If exactly one alternative of a union has the type of the value, returns the issues of that alternative instead. */
function flattenUnion(issue: Issue, parent: Path): Issue[] {
  const path = [...parent, ...(issue.path as (string | number)[])];
  if (issue.code !== 'invalid_union') return [{ ...issue, path }];
  const branchesOfType = issue.errors.filter(
    (branch) => !branch.some((branchIssue) => branchIssue.path.length === 0 && isTypeIssue(branchIssue)),
  );
  const [only, other] = branchesOfType;
  if (only && !other) return only.flatMap((branchIssue) => flattenUnion(branchIssue, path));
  return [{ ...issue, path }];
}

function isTypeIssue(issue: Issue): boolean {
  if (issue.code === 'custom') return issue.params?.['isWrongType'] === true;
  if (issue.code === 'invalid_union') return issue.errors.every((branch) => branch.some(isTypeIssue));
  return issue.code === 'invalid_type' || issue.code === 'invalid_value';
}

function toFault(source: Source, issue: Issue): Fault[] {
  // The rule `unknown-key` reports them with a suggestion.
  if (issue.code === 'unrecognized_keys') return [];
  const path = issue.path as Path;
  const found = valueAt(source.tree, path);
  const subject = quotedValue(found, path) ?? nameOf(path);
  const { predicate, remedy } = wordingOf(issue, found);
  return [faultAt(source, path, `${subject} ${predicate}.`, remedy)];
}

function nameOf(path: Path): string {
  const last = path.at(-1) ?? 'The file';
  return typeof last === 'number' ? 'This entry' : last;
}

function wordingOf(issue: Issue, found: unknown): { predicate: string; remedy: string } {
  if (issue.code === 'custom') {
    const { predicate, remedy } = { ...unspecificIssue, ...issue.params };
    return { predicate, remedy };
  }
  const predicate = found === undefined ? 'is missing' : `is ${nameOfType(found)}`;
  if (issue.code === 'invalid_union') return { predicate, remedy: `Write ${issue.message}.` };
  if (issue.code === 'too_small')
    return { predicate: 'has no entries', remedy: 'Write at least one, or remove the key.' };
  if (issue.code === 'too_big') {
    return { predicate: `has more than ${issue.maximum} entries`, remedy: 'Remove entries that have ended.' };
  }
  const wanted = issue.code === 'invalid_type' && issue.expected === 'array' ? 'a list' : 'a map';
  return { predicate, remedy: `Write ${wanted}.` };
}

/** The paths to leave out: of the value itself, or of the map that lacks a required key. */
function wrongPaths(tree: unknown, issue: Issue): Path[] {
  const path = issue.path as (string | number)[];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...path, key]);
  return [valueAt(tree, path) === undefined ? path.slice(0, -1) : path];
}

/** A copy without the value at `path`. A list is left out as a whole, so that the indices of its entries do not change. */
function withoutValueAt(tree: unknown, path: Path): unknown {
  const [key, ...restOfPath] = path;
  if (key === undefined || typeof key === 'number') return undefined;
  if (typeof tree !== 'object' || tree === null || tree instanceof ExpandedText || Array.isArray(tree))
    return undefined;
  if (!Object.hasOwn(tree, key)) return tree;
  const copy: Record<string, unknown> = Object.assign(Object.create(null), tree);
  const remaining = restOfPath.length === 0 ? undefined : withoutValueAt(copy[key], restOfPath);
  if (remaining === undefined) delete copy[key];
  else copy[key] = remaining;
  return copy;
}
