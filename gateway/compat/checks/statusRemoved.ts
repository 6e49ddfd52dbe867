import { type Check, is } from './check.ts';

export const statusRemoved: Check = (change) => {
  if (is(change, 'status', ['removed'])) return 'is no longer declared';
  return undefined;
};
