import { type Check, is } from './check.ts';

export const optionalParamAdded: Check = (change) => {
  if (is(change, 'parameter', ['added']) || is(change, 'field', ['added'], 'request') || is(change, 'body', ['added']))
    return 'is new, and optional';
  return undefined;
};
