import { expect, it } from 'vitest';
import { limitsLength } from '../../../../gateway/contracts/adapters/proof/patternTexts.ts';

it.each([
  ['^[0-9]{2}$', true],
  ['^a|b$', false],
  ['^a$|^b$', true],
  ['^(?:a|b{2,3}(?:c|d))$', true],
  ['^a\\$', false],
  ['^a\\\\$', true],
  ['^[+*|]\\+$', true],
  ['^a+$', false],
  ['^a{2,}$', false],
  ['a$', false],
])('%s limits the length of its texts: %s', (pattern, expected) => {
  expect(limitsLength(pattern)).toBe(expected);
});
