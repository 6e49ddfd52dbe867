import { type Check, is } from './check.ts';

export const responseFieldRemoved: Check = (change) => {
  if (is(change, 'field', ['removed'], 'response')) return 'was removed';
  return undefined;
};
