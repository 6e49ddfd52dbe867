import { type Check, is } from './check.ts';
import { valueInWords } from './words.ts';

export const defaultChanged: Check = (change) => {
  if (is(change, 'default', ['changed']))
    return `has the default ${valueInWords(change.new)} instead of ${valueInWords(change.old)}`;
  return undefined;
};
