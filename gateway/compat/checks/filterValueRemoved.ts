import { type Check, is } from './check.ts';

export const filterValueRemoved: Check = (change) => {
  if (is(change, 'value', ['removed'], 'request')) return `no longer takes ${change.name}`;
  return undefined;
};
