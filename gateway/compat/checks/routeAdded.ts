import { type Check, is } from './check.ts';

export const routeAdded: Check = (change) => {
  if (is(change, 'route', ['added'])) return 'is new';
  return undefined;
};
