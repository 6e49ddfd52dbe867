import type { NoContract } from '../contracts.ts';
import type { Fault } from '../fault.ts';
import type { NamedFiles } from '../namedFiles.ts';
import type { DraftRoute } from '../schema/routes.ts';
import type { Draft } from '../schema.ts';
import type { Contract } from '../snapshot.ts';
import type { Source } from '../source.ts';

/** Checks a document whose types are right and returns its faults; never throws. */
export type ConfigRule = (context: RuleContext) => Fault[];

export interface RuleContext {
  readonly source: Source;
  /** Values of a wrong type are left out; `has(source, path)` tells whether the file has one. */
  readonly draft: Draft;
  /** The routes with a valid prefix, lowest major first. */
  readonly entries: readonly RouteEntry[];
  readonly files: NamedFiles;
  /** By route key. */
  readonly contracts: ReadonlyMap<string, Contract | NoContract>;
}

export interface RouteEntry {
  /** As in the file: `/v1`. */
  readonly key: string;
  /** `v1`. */
  readonly name: string;
  readonly major: number;
  readonly route: DraftRoute;
}

/** Returns warnings about a file that works, but probably not as intended. `now` in epoch milliseconds. */
export type WarningRule = (context: RuleContext, now: number) => Fault[];
