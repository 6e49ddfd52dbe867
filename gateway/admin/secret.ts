import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares in the same time whatever was given. */
export function sameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(digest(given), digest(secret));
}

// Digests have one length, which the comparison asks for.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
