import { type Check, is } from './check.ts';

export const requestFieldRemoved: Check = (change) => {
  if (is(change, 'field', ['removed'], 'request') || is(change, 'body', ['removed'])) return 'was removed';
  return undefined;
};
