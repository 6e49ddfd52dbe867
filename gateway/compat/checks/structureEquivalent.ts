import { type Check, is } from './check.ts';

export const structureEquivalent: Check = (change) => {
  if (is(change, 'structure', ['equivalent']))
    return `is put together differently${change.name === '' ? '' : ` (${change.name})`}, to the same effect`;
  return undefined;
};
