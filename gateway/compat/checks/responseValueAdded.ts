import { type Check, is } from './check.ts';
import { limitInWords } from './words.ts';

export const responseValueAdded: Check = (change) => {
  if (is(change, 'value', ['added'], 'response')) return `may now be ${change.name}`;
  if (is(change, 'values', ['unlisted'], 'response')) return `may now be anything, and was one of ${change.name}`;
  if (is(change, 'limit', ['wider', 'changed'], 'response')) return limitInWords(change);
  return undefined;
};
