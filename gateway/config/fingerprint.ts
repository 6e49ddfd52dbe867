import { createHash } from 'node:crypto';
import { PathTable } from '../shared/pathTable.ts';

/** SHA-256 of what a document means, and of the files that it names. */
export function fingerprintOf(meaning: object, digests: readonly (readonly [file: string, digest: string])[]): string {
  return createHash('sha256')
    .update(JSON.stringify(canonical([meaning, Object.fromEntries(digests)])))
    .digest('hex');
}

function canonical(value: unknown): unknown {
  if (value instanceof PathTable) return canonical(Object.fromEntries(value.entries()));
  if (value instanceof Map) return canonical(Object.fromEntries(value));
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, canonical(inner)]);
}
