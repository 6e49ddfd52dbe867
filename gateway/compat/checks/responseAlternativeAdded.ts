import { type Check, is } from './check.ts';
import { quoted } from './words.ts';

export const responseAlternativeAdded: Check = (change) => {
  if (is(change, 'alternative', ['added'], 'response')) return `may now be the alternative ${quoted(change.name)}`;
  if (is(change, 'status', ['added']) || is(change, 'error_status', ['added'])) return 'is new';
  return undefined;
};
