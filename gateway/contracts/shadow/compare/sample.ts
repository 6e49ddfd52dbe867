import type { EvidenceKind } from '../../../usage/usageRow.ts';

/** A response that is compared. It is kept only in memory, and only until the comparison ends. */
export interface ComparedResponse {
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
  readonly old: ComparedResponse;
  /** `control`: a second response of the old version. `drift`: the same object as `old`. Undefined: only `old` is known. */
  readonly new: ComparedResponse | undefined;
  /** Whether the copy was sent without credentials. Then a 401 or 403 proves nothing. */
  readonly copyLacksCredentials: boolean;
  /** Epoch ms. */
  readonly at: number;
}

export const notJson = Symbol('not JSON');
export const tooDeep = Symbol('too deep');

/** Parses a body as JSON. */
export function parsedBody(body: Uint8Array): { readonly value: unknown } | typeof notJson | typeof tooDeep {
  if (isDeeperThan(deepestBody, body)) return tooDeep;
  try {
    // Removes a byte order mark.
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) };
  } catch {
    return notJson;
  }
}

/** The parsed value. Undefined: the body is not JSON, or too deep. */
export function valueIfJson(body: ReturnType<typeof parsedBody> | undefined): unknown {
  return typeof body === 'object' ? body.value : undefined;
}

// JSON.parse and a validator are recursive, so a body that is nested too deeply could exhaust the stack.
const deepestBody = 200;

function isDeeperThan(limit: number, body: Uint8Array): boolean {
  // 0x22 is a quotation mark, 0x5c a backslash. 0x7b and 0x5b begin an object or a list; 0x7d and 0x5d end one.
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index];
    if (isInString) {
      if (byte === 0x5c) index += 1;
      else if (byte === 0x22) isInString = false;
    } else if (byte === 0x22) isInString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return false;
}
