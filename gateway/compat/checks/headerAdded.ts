import { type Check, is } from './check.ts';

export const headerAdded: Check = (change) => {
  if (is(change, 'header', ['added'])) return 'is new';
  return undefined;
};
