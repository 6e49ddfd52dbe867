import { type Check, is } from './check.ts';
import { limitInWords, quoted, typesInWords } from './words.ts';

export const paramRelaxed: Check = (change) => {
  if (
    is(change, 'parameter', ['optional']) ||
    is(change, 'presence', ['optional'], 'request') ||
    is(change, 'body', ['optional'])
  )
    return 'is no longer required';
  if (is(change, 'type', ['wider'], 'request')) return typesInWords(change);
  if (is(change, 'null', ['added'], 'request')) return 'may now be null';
  if (is(change, 'values', ['unlisted'], 'request')) return `is no longer limited to ${change.name}`;
  if (is(change, 'limit', ['wider'], 'request')) return limitInWords(change);
  if (is(change, 'alternative', ['added'], 'request'))
    return `now takes the alternative ${quoted(change.name)} as well`;
  return undefined;
};
