import { type Check, is } from './check.ts';

export const errorStatusRemoved: Check = (change) => {
  if (is(change, 'error_status', ['removed'])) return 'is no longer declared';
  return undefined;
};
