import { type Check, is } from './check.ts';

export const responseFieldWeakened: Check = (change) => {
  if (is(change, 'presence', ['optional'], 'response')) return 'may now be missing';
  if (is(change, 'null', ['added'], 'response')) return 'may now be null';
  if (is(change, 'header', ['optional'])) return 'may now be missing';
  return undefined;
};
