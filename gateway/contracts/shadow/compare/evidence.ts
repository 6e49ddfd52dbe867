import { createHash } from 'node:crypto';
import type { EvidenceRow } from '../../../usage/usageRow.ts';

// The number of the comparison method. Another number starts new evidence.
const comparisonMethod = 6;

// With fewer pairs, a missing field or another type proves nothing.
export const leastPairs = 20;
// A difference counts if it occurs by chance with at most this probability. 20 of 20 pairs that differ in one direction are just enough.
const maxChance = 1e-6;
// The limit for noise, which is a difference between two responses of the old version (a control pair). There are few control pairs,
// so the limit is higher.
export const maxNoiseChance = 0.01;
// A difference counts if the share of values with the property (`what` and `detail` of the row) changes by at least this, on average
// over the pairs.
export const leastChange = 0.1;

/**
 * How much the share of values with the property changes, on average over the pairs. The result is 1 for a media type, and if the old
 * version has the property always or never, so that any change counts.
 */
export function changeOf({ pairs, oldShare, newShare, what }: EvidenceRow): number {
  const isConstant = oldShare === 0 || oldShare === pairs;
  return isConstant || what === 'media' ? 1 : Math.abs(newShare - oldShare) / pairs;
}

/**
 * The sign test: whether more pairs differ in `direction` than chance explains. Chance means that both directions are equally probable.
 * True if the probability of at least so many pairs in `direction` is then at most `limit`.
 */
export function isOneSided(row: EvidenceRow, direction: 'oldMore' | 'newMore', limit = maxChance): boolean {
  const differing = row.oldMore + row.newMore;
  const opposite = differing - row[direction];
  if (opposite >= row[direction]) return false;
  // `logTerm`: the logarithm of binomial(differing, k) / 2^differing. `total`: the sum of these terms for k up to `opposite`.
  let logTerm = -differing * Math.LN2;
  let total = Math.exp(logTerm);
  for (let k = 1; k <= opposite && total <= limit; k += 1) {
    logTerm += Math.log(differing - k + 1) - Math.log(k);
    total += Math.exp(logTerm);
  }
  return total <= limit;
}

/** Whether the row counts pairs. A row with the detail `more paths` does not: another row counts the same pairs. */
export function isPairRow({ what, detail }: EvidenceRow): boolean {
  return what === 'pair' && detail !== 'more paths';
}

/** The `detail` of a pair row: the contract with which the responses are compared cannot be read. */
export const unreadableContract = 'unreadable contract';

export function sumPairs(rows: readonly EvidenceRow[]): number {
  return rows.reduce((total, { pairs }) => total + pairs, 0);
}

export function propertyKeyOf({ status, path, what, detail }: EvidenceRow): string {
  return [status, path, what, detail].join('\0');
}

/**
 * Identifies the evidence of two contracts and an adapter. A change of one of them starts new evidence. The digests are those of
 * the contract files.
 */
export function evidenceHash(digest: string | undefined, toDigest: string | undefined, adapterHash = ''): string {
  const parts = [comparisonMethod, digest ?? '', toDigest ?? '', adapterHash];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

/** `/a/b/c` → `/a`, `/a/b` */
export function parentsOf(path: string): string[] {
  const keys = path.split('/').slice(1, -1);
  return keys.map((_key, index) => `/${keys.slice(0, index + 1).join('/')}`);
}
