const longest = 16_384;

/**
 * A claim of a bearer JWT (RFC 7519 §4) as a text; '' where there is none. The signature is not verified: this is about
 * counting, and whoever lies about it is counted as whom he claims to be.
 */
export function claimOf(authorization: string, claim: string): string {
  if (authorization.length > longest) return '';
  const payload = /^bearer +[\w-]+\.([\w-]+)\.[\w-]*\s*$/i.exec(authorization)?.[1];
  if (payload === undefined) return '';
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    if (typeof claims !== 'object' || claims === null || !Object.hasOwn(claims, claim)) return '';
    const value: unknown = (claims as Record<string, unknown>)[claim];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  } catch {
    return '';
  }
}
