import { describe, expect, it } from 'vitest';
import { csvCell, usageCsv } from '../../../gateway/usage/report/usageCsv.ts';

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

it('has a header line, and ends every line with CRLF (RFC 4180)', () => {
  const rows = [{ version: 'v1', at: '2026-11-21T00:00:00.000Z', requests: 7 } as const];
  expect(usageCsv({ by: 'day', rows })).toBe('version,at,requests\r\nv1,2026-11-21T00:00:00.000Z,7\r\n');
});
