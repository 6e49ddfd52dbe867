import { type Check, is } from './check.ts';
import { typesInWords } from './words.ts';

export const responseTypeChanged: Check = (change) => {
  if (is(change, 'type', ['wider', 'changed'], 'response')) return typesInWords(change);
  return undefined;
};
