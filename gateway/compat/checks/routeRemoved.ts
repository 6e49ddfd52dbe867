import { type Check, is } from './check.ts';

export const routeRemoved: Check = (change) => {
  if (is(change, 'route', ['removed'])) return 'was removed';
  return undefined;
};
