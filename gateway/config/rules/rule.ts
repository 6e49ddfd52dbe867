import type { NoContract } from '../contracts.ts';
import type { Fault } from '../fault.ts';
import type { Files } from '../files.ts';
import type { Route } from '../schema/version.ts';
import type { Draft } from '../schema.ts';
import type { Contract } from '../snapshot.ts';
import type { Source } from '../source.ts';

/** A rule looks at a document whose types are right, and says what it finds; it never throws. */
export type Rule = (context: Context) => Fault[];

export interface Context {
  readonly source: Source;
  /** What is wrongly typed is missing in it; `has(source, path)` tells whether it is missing in the file too. */
  readonly draft: Draft;
  /** The routes whose prefix has the right shape, lowest major first. */
  readonly entries: readonly Entry[];
  readonly files: Files;
  /** By route key. */
  readonly contracts: ReadonlyMap<string, Contract | NoContract>;
}

export interface Entry {
  /** As in the file: `/v1`. */
  readonly key: string;
  /** `v1`. */
  readonly name: string;
  readonly major: number;
  readonly route: Route;
}
