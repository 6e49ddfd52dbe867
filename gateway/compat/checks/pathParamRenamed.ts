import { type Check, is } from './check.ts';

export const pathParamRenamed: Check = (change) => {
  if (is(change, 'path_name', ['changed'])) return `has other names for its parameters: ${change.name}`;
  return undefined;
};
