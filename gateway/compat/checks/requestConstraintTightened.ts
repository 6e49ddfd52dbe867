import { type Check, is } from './check.ts';
import { limitInWords } from './words.ts';

export const requestConstraintTightened: Check = (change) => {
  if (is(change, 'limit', ['narrower', 'changed'], 'request')) return limitInWords(change);
  if (is(change, 'field', ['refused'], 'request')) return 'is no longer let through';
  if (is(change, 'null', ['removed'], 'request')) return 'may no longer be null';
  if (is(change, 'values', ['listed'], 'request')) return `now takes only ${change.name}`;
  return undefined;
};
