import { randomBytes, randomFillSync } from 'node:crypto';

// W3C Trace Context §3.2.2: a version other than ff, and ids that are not all zeros.
const wellFormed = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;
const lengthOfVersion00 = 55;

// Hexadecimal digits of a trace id and a parent id. The random digits for 128 pairs are made at once, because a call for
// each pair would be the slowest part of this function.
const digits = 48;
const pool = Buffer.alloc(128 * 24);
let randomDigits = '';
let used = 0;

/**
 * The client's `traceparent` if it is valid, else that of a new trace. A new trace is marked as sampled: backends follow
 * this flag (W3C Trace Context §3.2.2.5.1), and would trace nothing without it.
 */
export function traceparentFrom(given: string | undefined): string {
  if (
    given !== undefined &&
    wellFormed.test(given) &&
    (!given.startsWith('00') || given.length === lengthOfVersion00)
  ) {
    return given;
  }
  if (used + digits > randomDigits.length) {
    randomDigits = randomFillSync(pool).toString('hex');
    used = 0;
  }
  const parentAt = used + 32;
  const traceparent = `00-${randomDigits.slice(used, parentAt)}-${randomDigits.slice(parentAt, parentAt + 16)}-01`;
  used += digits;
  return traceparent;
}

/** The trace that a valid `traceparent` belongs to. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

// Random for each process, followed by a counter: unique everywhere without randomness for each request.
const prefix = randomBytes(9).toString('base64url');
let count = 0;

const safeId = /^[\w.:=+/@-]{1,128}$/;

/** The client's id if it is safe in logs and header fields, else a new one. */
export function requestIdFrom(given: string): string {
  if (given !== '' && safeId.test(given)) return given;
  count += 1;
  return `${prefix}-${count.toString(36)}`;
}
