import { resolve } from 'node:path';
import { build } from './build.ts';
import { type ParsedContracts, readContract } from './contracts.ts';
import { Expanded } from './expand.ts';
import { byPlace, type Fault } from './fault.ts';
import { Files } from './files.ts';
import type { Reading } from './readObject.ts';
import { isPrefix } from './rules/prefixes.ts';
import type { Context, Entry } from './rules/rule.ts';
import { intendedKeys } from './rules/unknownKeys.ts';
import { rules } from './rules.ts';
import type { Draft } from './schema.ts';
import type { Snapshot } from './snapshot.ts';
import { faultAt, type Source } from './source.ts';
import { typed } from './typeFaults.ts';
import { warnings } from './warnings.ts';

/** What there is to say about a document: a snapshot, or the faults that stand in its way. */
export interface Verdict {
  readonly snapshot: Snapshot | undefined;
  /** In the order of the lines. */
  readonly faults: readonly Fault[];
  /** In the order of the lines; what will work, and is hardly meant. */
  readonly warnings: readonly Fault[];
}

export interface ValidationOptions {
  /** False if a version may be without an upstream. */
  readonly forwards?: boolean | undefined;
  /** Contracts that need not be parsed again; new ones are added. */
  readonly parsed?: ParsedContracts | undefined;
}

/** `now`, in epoch milliseconds, only matters to the warnings. */
export function validate({ source, faults, broken }: Reading, now: number, options: ValidationOptions = {}): Verdict {
  const { forwards = true, parsed } = options;
  if (broken) return refusal(faults);
  if (!isMap(source.tree)) {
    return refusal(
      faults.length > 0 ? faults : [faultAt(source, [], 'The file is not a map.', 'Begin it with `routes:`.')],
    );
  }
  const { draft, faults: typeFaults } = typed(source);
  const context = contextOf(source, draft, parsed);
  const wanted = Object.entries(rules).filter(([name]) => forwards || name !== 'no-target');
  const ruleFaults = wanted.flatMap(([, rule]) => rule(context));
  // An unset variable and a misspelled key are one fault each: the value that is missing because of them is not another.
  const reported = new Set([...faults.map(({ path }) => path).filter((path) => path !== ''), ...intendedKeys(source)]);
  const others = [...typeFaults, ...ruleFaults].filter(({ path }) => !reported.has(path));
  const all = [...faults, ...others];
  if (all.length > 0) return refusal(all);
  const snapshot = build(context);
  return { snapshot, faults: [], warnings: warnings(context, now).sort(byPlace) };
}

/** A text with variables in it is an object here, and no map. */
function isMap(tree: unknown): boolean {
  return typeof tree === 'object' && tree !== null && !Array.isArray(tree) && !(tree instanceof Expanded);
}

function refusal(faults: readonly Fault[]): Verdict {
  return { snapshot: undefined, faults: faults.toSorted(byPlace), warnings: [] };
}

function contextOf(source: Source, draft: Draft, parsed?: ParsedContracts): Context {
  const files = new Files();
  const entries = Object.entries(draft.routes)
    .filter(([key]) => isPrefix(key))
    .map(([key, route]): Entry => ({ key, name: key.slice(1), major: Number(key.slice(2)), route }))
    .sort((a, b) => a.major - b.major);
  const contracts = entries.flatMap(({ key, name, route: { contract } }) => {
    if (!contract) return [];
    const file = resolve(source.folder, contract.file);
    return [[key, readContract(file, contract.publish, name, files, parsed)] as const];
  });
  return { source, draft, entries, files, contracts: new Map(contracts) };
}
