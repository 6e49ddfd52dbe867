import { type Check, is } from './check.ts';
import { limitInWords, quoted, typesInWords } from './words.ts';

export const responseStrengthened: Check = (change) => {
  if (is(change, 'presence', ['required'], 'response') || is(change, 'header', ['required']))
    return 'is now always there';
  if (is(change, 'type', ['narrower'], 'response')) return typesInWords(change);
  if (is(change, 'null', ['removed'], 'response')) return 'is no longer null';
  if (is(change, 'value', ['removed'], 'response')) return `is no longer ${change.name}`;
  if (is(change, 'values', ['listed'], 'response')) return `is now one of ${change.name}`;
  if (is(change, 'limit', ['narrower'], 'response')) return limitInWords(change);
  if (is(change, 'alternative', ['removed'], 'response')) return `is no longer the alternative ${quoted(change.name)}`;
  return undefined;
};
