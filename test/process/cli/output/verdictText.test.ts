import { expect, it } from 'vitest';
import { escaped } from '../../../../gateway/process/cli/output/verdictText.ts';

it.each([
  ['a|b', 'a\\|b'],
  ['`x`', '\\`x\\`'],
  ['<img src=x>', '\\<img src=x\\>'],
  ['[a](http://x)', '\\[a\\](http://x)'],
  ['\\|', '\\\\\\|'],
  ['a\nb', 'a\\\\x0ab'],
])('%j is escaped in Markdown', (text, expected) => expect(escaped(text)).toBe(expected));
