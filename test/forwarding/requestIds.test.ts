import { describe, expect, it } from 'vitest';
import { requestIdFrom, traceIdOf, traceparentFrom } from '../../gateway/forwarding/requestIds.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const parent = 'b7ad6b7169203331';

it.each([
  ['sampled', `00-${trace}-${parent}-01`],
  ['not sampled', `00-${trace}-${parent}-00`],
  ['with unknown flags', `00-${trace}-${parent}-ff`],
  ['of a later version', `01-${trace}-${parent}-00`],
  ['of a later version with more fields', `cc-${trace}-${parent}-00-what-else`],
])('a traceparent %s is kept', (_name, given) => {
  expect(traceparentFrom(given)).toBe(given);
  expect(traceIdOf(given)).toBe(trace);
});

it.each([
  ['absent', undefined],
  ['empty', ''],
  ['two of them', `00-${trace}-${parent}-01, 00-${trace}-${parent}-01`],
  ['of the forbidden version', `ff-${trace}-${parent}-01`],
  ['with a trace id of zeros', `00-${'0'.repeat(32)}-${parent}-01`],
  ['with a parent id of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
  ['in upper case', `00-${trace.toUpperCase()}-${parent}-01`],
  ['too short', `00-${trace.slice(1)}-${parent}-01`],
  ['of version 00 with more fields', `00-${trace}-${parent}-01-x`],
  ['of a later version, longer, without a dash', `01-${trace}-${parent}-01x`],
  ['after a blank', ` 00-${trace}-${parent}-01`],
])('a traceparent %s is replaced by a new one, which is sampled', (_name, given) => {
  const made = traceparentFrom(given);
  expect(made).toMatch(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/);
  expect(traceIdOf(made)).not.toBe(trace);
});

it('generates no id twice', () => {
  const ids = Array.from({ length: 1000 }, () => traceparentFrom(undefined));
  expect(new Set(ids.map(traceIdOf)).size).toBe(1000);
  expect(new Set(ids.map((id) => id.slice(36, 52))).size).toBe(1000);
});

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
