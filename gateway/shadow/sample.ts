import type { EvidenceKind } from '../usage/usageRow.ts';

/** A response as it is compared. It exists only in memory, and only until it was compared. */
export interface Exchanged {
  readonly status: number;
  /** The field `Content-Type`. */
  readonly contentType: string | undefined;
  /** Decoded from its content coding. Empty for HEAD. */
  readonly body: Uint8Array;
}

/** Two responses to one request, or one response of a live version (`drift`). */
export interface ResponsePair {
  readonly kind: EvidenceKind;
  /** `GET` or `HEAD` */
  readonly method: string;
  /** The route of the old version, without the version: `/drinks/{id}`. */
  readonly template: string;
  /** The route of the new version. Undefined: its contract does not have one. */
  readonly toTemplate: string | undefined;
  readonly old: Exchanged;
  /** `control`: the second response of the old version. Undefined: `drift`. */
  readonly new: Exchanged | undefined;
  /** Whether the copy was sent without credentials. A 401 or 403 then says nothing. */
  readonly withoutCredentials: boolean;
  /** Epoch ms. */
  readonly at: number;
}
