import { expect, it } from 'vitest';
import { findJsonError } from '../../../gateway/contract/document/jsonSyntax.ts';
import { randomFrom } from '../../support/random.ts';
import { randomJson } from './randomJson.ts';

it.each([
  ['', 0],
  ['{', 1],
  ['{}}', 2],
  ['{"a"}', 4],
  ['{"a":}', 5],
  ['{"a":1,}', 7],
  ['{"a":1 "b"', 7],
  ['{a:1}', 1],
  ['[1,]', 3],
  ['[1}', 2],
  ['{"a":[1}', 7],
  ['[01]', 1],
  ['[1.]', 1],
  ['[tru]', 1],
  ['[truex]', 1],
  ['["\\x"]', 2],
  ['["a\nb"]', 3],
  ['["a\tb"]', 3],
  ['["a', 3],
  ['{"a":"b",\n// c\n"d":1}', 10],
])('%j has its first error at %i', (text, offset) => {
  expect(findJsonError(text)?.offset).toBe(offset);
});

it('finds an error in exactly the texts that JSON.parse rejects', () => {
  const random = randomFrom(7);
  let broken = 0;
  for (let round = 0; round < 3000; round += 1) {
    const text = randomJson(random);
    expect(findJsonError(text), text).toBeUndefined();
    const at = Math.floor(random() * text.length);
    const damaged = text.slice(0, at) + '{}[],:"\\ 1a\n'.charAt(Math.floor(random() * 12)) + text.slice(at + 1);
    const isBroken = !parses(damaged);
    if (isBroken) broken += 1;
    expect(findJsonError(damaged) !== undefined, damaged).toBe(isBroken);
  }
  expect(broken).toBeGreaterThan(1000);
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
