import { randomBytes, randomFillSync } from 'node:crypto';

// W3C Trace Context §3.2.2: a version other than ff, and ids that are not all zeros.
const wellFormed = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;
const lengthOfVersion00 = 55;

// Of a trace id and a parent id, in hexadecimal digits.
const digits = 48;
const pool = Buffer.alloc(128 * 24);
let fresh = '';
let taken = 0;

/**
 * The client's `traceparent` where it is valid, else the beginning of a new trace. A new one is sampled: backends follow
 * this flag (W3C Trace Context §3.2.2.5.1), and without it those that traced such requests before would stop.
 */
export function traceparentFrom(given: string | undefined): string {
  if (
    given !== undefined &&
    wellFormed.test(given) &&
    (!given.startsWith('00') || given.length === lengthOfVersion00)
  ) {
    return given;
  }
  // Ids of 24 bytes are cut from a supply: a call for each of them would cost more than all the rest of it.
  if (taken + digits > fresh.length) {
    fresh = randomFillSync(pool).toString('hex');
    taken = 0;
  }
  const parentAt = taken + 32;
  const traceparent = `00-${fresh.slice(taken, parentAt)}-${fresh.slice(parentAt, parentAt + 16)}-01`;
  taken += digits;
  return traceparent;
}

/** The trace that a valid `traceparent` belongs to. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

// Random once a process and counted from there: unique everywhere, and a request costs no randomness.
const prefix = randomBytes(9).toString('base64url');
let count = 0;

const harmless = /^[\w.:=+/@-]{1,128}$/;

/** The client's own id where it may go into logs and fields as it is, else a new one. */
export function requestIdFrom(given: string): string {
  if (given !== '' && harmless.test(given)) return given;
  count += 1;
  return `${prefix}-${count.toString(36)}`;
}
