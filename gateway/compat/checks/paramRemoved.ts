import { type Check, is } from './check.ts';

export const paramRemoved: Check = (change) => {
  if (is(change, 'parameter', ['removed'])) return 'was removed';
  return undefined;
};
