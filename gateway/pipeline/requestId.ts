import { randomBytes } from 'node:crypto';

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
