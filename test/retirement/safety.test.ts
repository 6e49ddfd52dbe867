import { describe, expect, it } from 'vitest';
import { escaped } from '../../gateway/cli/output/verdictText.ts';
import { printable, printableExcerpt } from '../../gateway/shared/text.ts';
import { csvCell, usageCsv } from '../../gateway/usage/report/usageCsv.ts';

describe('text for people', () => {
  it.each([
    ['plain', 'plain'],
    ['café 客户 😀', 'café 客户 😀'],
    ['\x1b]0;owned\x07', '\\x1b]0;owned\\x07'],
    ['a\r\nb\tc\x7f\x9b', 'a\\x0d\\x0ab\\x09c\\x7f\\x9b'],
    ['\u202eevil\u2066\u200b', '\\u{202e}evil\\u{2066}\\u{200b}'],
    ['\u2028\u2029', '\\u{2028}\\u{2029}'],
    ['\ud800', '\\u{d800}'],
    ['\u{e0041}', '\\u{e0041}'],
  ])('%j is harmless as %s', (text, expected) => expect(printable(text)).toBe(expected));

  it('is cut where it is long, escapes included', () => {
    expect(printableExcerpt('abcdef', 6)).toBe('abcdef');
    expect(printableExcerpt('abcdefg', 6)).toBe('abcde…');
    expect(printableExcerpt('\x1b\x1b', 6)).toBe('\\x1b\\…');
    expect(printableExcerpt('😀'.repeat(9), 6)).toBe('😀😀😀😀😀…');
  });
});

describe('a cell of CSV', () => {
  it.each<[string | number | null, string]>([
    ['curl', 'curl'],
    [-3, '-3'],
    [null, ''],
    ['', ''],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two words', '"two words"'],
    ['=1+1', `"'=1+1"`],
    ['+1', `"'+1"`],
    ['-1', `"'-1"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['\t=1', `"'\\x09=1"`],
    ['\r=1', `"'\\x0d=1"`],
    [' =1', `"' =1"`],
    ['＝1', `"'＝1"`],
    ['=HYPERLINK("http://evil","x")', `"'=HYPERLINK(""http://evil"",""x"")"`],
    ['a\nb', 'a\\x0ab'],
    ['a=1', 'a=1'],
  ])('%j is %s', (value, expected) => expect(csvCell(value)).toBe(expected));
});

it('is a table with a header line, and ends every line as RFC 4180 has it', () => {
  const rows = [{ version: 'v1', at: '2026-11-21T00:00:00.000Z', requests: 7 }];
  expect(usageCsv({ by: 'day', rows })).toBe('version,at,requests\r\nv1,2026-11-21T00:00:00.000Z,7\r\n');
});

it.each([
  ['a|b', 'a\\|b'],
  ['`x`', '\\`x\\`'],
  ['<img src=x>', '\\<img src=x\\>'],
  ['[a](http://x)', '\\[a\\](http://x)'],
  ['\\|', '\\\\\\|'],
  ['a\nb', 'a\\\\x0ab'],
])('%j means itself in markdown', (text, expected) => expect(escaped(text)).toBe(expected));
