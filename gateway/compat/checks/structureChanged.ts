import { type Check, is } from './check.ts';
import { quoted, structureInWords } from './words.ts';

export const structureChanged: Check = (change) => {
  if (is(change, 'structure', ['changed'])) return structureInWords(change);
  if (is(change, 'serialization', ['changed'])) return `is written in another way (${change.name})`;
  if (is(change, 'alternative', ['removed'], 'request'))
    return `no longer takes the alternative ${quoted(change.name)}`;
  return undefined;
};
