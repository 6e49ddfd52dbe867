import { type Check, is } from './check.ts';

export const requestFieldRequired: Check = (change) => {
  if (is(change, 'field', ['added_required'], 'request')) return 'is new, and required';
  if (is(change, 'presence', ['required'], 'request')) return 'is now required';
  if (is(change, 'body', ['added_required'])) return 'is new, and required';
  if (is(change, 'body', ['required'])) return 'is now required';
  return undefined;
};
