import { type Check, is } from './check.ts';

export const routeRemoved: Check = (change) => {
  if (is(change, 'route', ['removed'])) return 'was removed';
  if (is(change, 'base_path', ['changed'])) return `has another base path (${change.name})`;
  return undefined;
};
