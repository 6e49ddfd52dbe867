import type { NoContract } from '../contracts.ts';
import type { Fault } from '../fault.ts';
import type { NamedFiles } from '../namedFiles.ts';
import type { DraftRoute } from '../schema/routes.ts';
import type { Draft } from '../schema.ts';
import type { Contract } from '../snapshot.ts';
import type { Source } from '../source.ts';

/** A rule looks at a document whose types are right, and says what it finds; it never throws. */
export type ConfigRule = (context: RuleContext) => Fault[];

export interface RuleContext {
  readonly source: Source;
  /** What is wrongly typed is missing in it; `has(source, path)` tells whether it is missing in the file too. */
  readonly draft: Draft;
  /** The routes whose prefix has the right shape, lowest major first. */
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

/** What a file may say and is hardly meant to. `now` in epoch milliseconds. */
export type WarningRule = (context: RuleContext, now: number) => Fault[];
