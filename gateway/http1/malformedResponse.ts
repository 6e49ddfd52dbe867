/** The response breaks RFC 9112, or can be read in two ways; nothing of it may be passed on. */
export class MalformedResponse extends Error {
  override readonly name = 'MalformedResponse';
}

/** A response that breaks its handler ends the exchange that it belongs to, and no other. */
export function asMalformed(error: unknown): MalformedResponse {
  return error instanceof MalformedResponse ? error : new MalformedResponse(String(error), { cause: error });
}
