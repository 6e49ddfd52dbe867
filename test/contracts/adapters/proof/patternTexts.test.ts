import { expect, it } from 'vitest';
import { limitsLength, textFor } from '../../../../gateway/contracts/adapters/proof/patternTexts.ts';
import { randomFrom } from '../../../support/random.ts';

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

it.each(['^(?=a)a$', '^(?<name>a)$', '^a(?!b)$', '^['])('writes no text for %s, which it cannot read', (pattern) => {
  expect(textFor(pattern, randomFrom(1))).toBeUndefined();
});
