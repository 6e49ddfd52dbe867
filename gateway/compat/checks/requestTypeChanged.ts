import { type Check, is } from './check.ts';
import { typesInWords } from './words.ts';

export const requestTypeChanged: Check = (change) => {
  if (is(change, 'type', ['narrower', 'changed'], 'request')) return typesInWords(change);
  return undefined;
};
