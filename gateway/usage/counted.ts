import type { ProblemCode } from '../problems/catalogue.ts';
import type { PathTable } from '../shared/pathTable.ts';

/** A request that has ended, or as much as is known of one that has not. */
export interface CountedExchange {
  /** The segment, `v1`; '' where the path names no version that is known. */
  readonly version: string;
  /** The version has a name, and routes.yaml does not list it. */
  readonly unlisted?: boolean;
  readonly method: string;
  /** Below the version, without the query: `/drinks/7`. */
  readonly resource: string;
  /** Of the version's contract, if it has one. */
  readonly paths: PathTable<unknown> | undefined;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
  readonly address: string;
  /** 0 while there is no response. */
  readonly status: number;
  /** Of the gateway's own answer. */
  readonly problem?: ProblemCode | undefined;
  /** Whether it reached a backend. */
  readonly served: boolean;
  /** Epoch ms. */
  readonly at: number;
}
