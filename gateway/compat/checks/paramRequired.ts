import { type Check, is } from './check.ts';

export const paramRequired: Check = (change) => {
  if (is(change, 'parameter', ['added_required'])) return 'is new, and required';
  if (is(change, 'parameter', ['required'])) return 'is now required';
  return undefined;
};
