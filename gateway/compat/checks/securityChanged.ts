import { type Check, is } from './check.ts';
import { securityInWords } from './words.ts';

export const securityChanged: Check = (change) => {
  if (!is(change, 'security', ['changed'])) return undefined;
  const [before, after] = [securityInWords(change.old), securityInWords(change.new)];
  return before === after ? `asks for ${after} in another way` : `asks for ${after} instead of ${before}`;
};
