import { type Check, is } from './check.ts';

export const filterValueAdded: Check = (change) => {
  if (is(change, 'value', ['added'], 'request')) return `now takes ${change.name} as well`;
  return undefined;
};
