import { randomBytes } from 'node:crypto';

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
