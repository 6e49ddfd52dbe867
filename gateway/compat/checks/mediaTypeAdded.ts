import { type Check, is } from './check.ts';

export const mediaTypeAdded: Check = (change) => {
  if (is(change, 'media_type', ['added'])) return 'is new';
  return undefined;
};
