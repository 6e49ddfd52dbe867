import { describe, expect, it } from 'vitest';
import { requestIdFrom } from '../../gateway/forwarding/requestIds.ts';

describe('an X-Request-Id of the client', () => {
  it.each([
    ['a UUID', '7d444840-9dc0-11d1-b245-5ffdce74fad2'],
    ['one character', 'a'],
    ['128 characters', 'a'.repeat(128)],
    ['base64', 'aGVsbG8+d29ybGQ/Cg=='],
    ['words and punctuation', 'web-1:req/7@host.eu_west=x'],
  ])('is kept: %s', (_name, given) => expect(requestIdFrom(given)).toBe(given));

  it.each([
    ['none', ''],
    ['129 characters', 'a'.repeat(129)],
    ['a space', 'a b'],
    ['a tab', 'a\tb'],
    ['a line break', 'a\r\nX: y'],
    ['a line break at its end', 'a\n'],
    ['a control character', 'a\x1b[31m'],
    ['a byte above ASCII', 'caf\xe9'],
    ['a quote', 'a"b'],
    ['an angle bracket', '<script>'],
    ['a comma, as between two ids', 'a, b'],
    ['a semicolon', 'a;b'],
    ['a percent sign', '%0a'],
    ['a brace', '{a}'],
    ['a dollar sign', '$a'],
    ['a backslash', 'a\\b'],
  ])('is replaced: %s', (_name, given) => expect(requestIdFrom(given)).not.toBe(given));
});

describe('a generated id', () => {
  it('is kept by another gateway', () => {
    const id = requestIdFrom('');
    expect(requestIdFrom(id)).toBe(id);
  });

  it('is unique', () => {
    const ids = Array.from({ length: 10_000 }, () => requestIdFrom(''));
    expect(new Set(ids).size).toBe(ids.length);
  });
});
