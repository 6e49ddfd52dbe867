import type { Request } from 'express';
import type { Snapshot } from '../../config/snapshot.ts';
import type { ServingReport } from '../../observability/report.ts';
import type { ProblemCode } from '../../problems/catalogue.ts';
import type { Incident } from '../../usage/ledger/writableLedger.ts';

/** What the gateway wants to know of its ledger, as plain data. Instants in epoch ms. */
export interface Questions {
  /** `GET /api/usage`, and the same as CSV. */
  readonly usage: { readonly query: Request['query']; readonly format: 'json' | 'csv'; readonly now: number };
  /** `GET /api/versions/{version}/retirement`. */
  readonly retirement: {
    readonly name: string;
    readonly query: Request['query'];
    readonly report: ServingReport;
    readonly now: number;
  };
  readonly name: ClientNaming;
  /** For the guard: how the versions have been used since then. */
  readonly use: { readonly since: number; readonly now: number };
  /** When each version was last served, and last used. */
  readonly lastUse: Readonly<Record<never, never>>;
}

/** Whole pages where a page is asked for, so that little is left to do for who sends them. */
export interface Answers {
  readonly usage: Page | Objection;
  readonly retirement: Page | Objection;
  readonly name: Page | Objection;
  readonly use: readonly VersionUseFacts[];
  /** Undefined: the ledger is not well. */
  readonly lastUse: ReadonlyMap<string, LastUseFacts> | undefined;
}

export interface Page {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The name of the file; undefined: JSON. */
  readonly csv?: string | undefined;
}

/** A question that has no answer. */
export interface Objection {
  readonly problem: ProblemCode;
  readonly detail: string;
  /** Extension members (RFC 9457 §3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** The name of a client; '' for none. */
export interface ClientNaming {
  readonly client: string;
  readonly name: string;
  /** The name that the operator saw. */
  readonly was: string;
}

export interface VersionUseFacts {
  readonly version: string;
  /** When a client that counts last called it; see `callersSince`. */
  readonly last: number | undefined;
  /** In words; undefined: nobody. */
  readonly clients: string | undefined;
}

export interface LastUseFacts {
  /** When a request last reached a backend, or was refused after that. */
  readonly served: number | undefined;
  /** When a client that counts last used it, and did not only fail. */
  readonly used: number | undefined;
}

export type Kind = keyof Questions;

/** Where questions about the ledger are answered, in their order. */
export interface LedgerDesk {
  /** What keeps the ledger from being written. */
  readonly problem: string | undefined;
  /** What last interrupted what the ledger covers, and is over. */
  readonly incident: Incident | undefined;
  /** Rows that wait in memory until they can be written. */
  readonly held: number;
  /** Requests that the ledger itself has counted as `other clients` since the start. */
  readonly foldedHere: number;
  /** @throws UnansweredQuestion */
  ask<Asked extends Kind>(kind: Asked, snapshot: Snapshot, question: Questions[Asked]): Promise<Answers[Asked]>;
}

/** The ledger was too slow, or who reads it has failed. The message is a sentence for people. */
export class UnansweredQuestion extends Error {
  override readonly name = 'UnansweredQuestion';
}
