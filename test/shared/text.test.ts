import { describe, expect, it } from 'vitest';
import { printable, printableExcerpt } from '../../gateway/shared/text.ts';

describe('printable text', () => {
  it.each([
    ['plain', 'plain'],
    ['café 客户 😀', 'café 客户 😀'],
    ['\x1b]0;owned\x07', '\\x1b]0;owned\\x07'],
    ['a\r\nb\tc\x7f\x9b', 'a\\x0d\\x0ab\\x09c\\x7f\\x9b'],
    ['\u202eevil\u2066\u200b', '\\u{202e}evil\\u{2066}\\u{200b}'],
    ['\u2028\u2029', '\\u{2028}\\u{2029}'],
    ['\ud800', '\\u{d800}'],
    ['\u{e0041}', '\\u{e0041}'],
  ])('%j becomes %s', (text, expected) => expect(printable(text)).toBe(expected));

  it('is cut to the maximum length, escapes included', () => {
    expect(printableExcerpt('abcdef', 6)).toBe('abcdef');
    expect(printableExcerpt('abcdefg', 6)).toBe('abcde…');
    expect(printableExcerpt('\x1b\x1b', 6)).toBe('\\x1b\\…');
    expect(printableExcerpt('😀'.repeat(9), 6)).toBe('😀😀😀😀😀…');
  });
});
