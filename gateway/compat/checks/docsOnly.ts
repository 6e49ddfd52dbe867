import { type Check, is } from './check.ts';

export const docsOnly: Check = (change) => {
  if (is(change, 'docs', ['changed'])) return `is described differently: ${change.name}`;
  return undefined;
};
