import { type Check, is } from './check.ts';

export const mediaTypeRemoved: Check = (change) => {
  if (is(change, 'media_type', ['removed'])) return 'is no longer offered';
  return undefined;
};
