import { type Check, is } from './check.ts';

export const responseHeaderRemoved: Check = (change) => {
  if (is(change, 'header', ['removed'])) return 'was removed';
  return undefined;
};
