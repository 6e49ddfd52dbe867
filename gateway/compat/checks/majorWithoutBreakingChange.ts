import { type Check, is } from './check.ts';

export const majorWithoutBreakingChange: Check = (change) => {
  if (is(change, 'major', ['needless'])) return change.name;
  return undefined;
};
