import { type Check, is } from './check.ts';

export const responseFieldAdded: Check = (change) => {
  if (is(change, 'field', ['added', 'added_required'], 'response')) return 'is new';
  return undefined;
};
