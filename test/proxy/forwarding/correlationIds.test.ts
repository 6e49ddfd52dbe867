import { describe, expect, it } from 'vitest';
import {
  attemptSpanId,
  requestIdFrom,
  serverSpanOf,
  traceIdOf,
  traceparentFrom,
  traceparentOfAttempt,
} from '../../../gateway/proxy/forwarding/correlationIds.ts';

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

describe('the share of new traces that are sampled', () => {
  const sampledOf = (sample: number) =>
    Array.from({ length: 20_000 }, () => traceparentFrom(undefined, sample)).filter((one) => one.endsWith('-01'))
      .length;

  it('is kept', () => {
    expect(sampledOf(0)).toBe(0);
    expect(sampledOf(1)).toBe(20_000);
    // Six standard deviations around the mean.
    expect(Math.abs(sampledOf(0.25) - 5000)).toBeLessThan(370);
    expect(Math.abs(sampledOf(0.01) - 200)).toBeLessThan(85);
  });

  it('does not apply to the trace of a client', () => {
    for (const flags of ['00', '01']) {
      const given = `00-${trace}-${parent}-${flags}`;
      expect(traceparentFrom(given, 0)).toBe(given);
      expect(traceparentFrom(given, 1)).toBe(given);
    }
  });

  it('follows the trace id as the samplers of OpenTelemetry do: the highest ids are sampled', () => {
    for (let count = 0; count < 1000; count += 1) {
      const made = traceparentFrom(undefined, 0.5);
      expect(made.endsWith('-01')).toBe(Number.parseInt(traceIdOf(made).slice(18, 19), 16) >= 8);
    }
  });
});

describe('the span of an exchange', () => {
  it('is the one that a new trace begins with', () => {
    const made = traceparentFrom(undefined, 1);
    expect(serverSpanOf(made, undefined)).toEqual({ id: made.slice(36, 52), parentId: undefined, flags: '01' });
  });

  it.each([
    ['01', '01'],
    ['03', '03'],
    ['ff', '03'],
  ])('is a child of the client’s with the flags %s, and passes on %s', (flags, passedOn) => {
    const given = `00-${trace}-${parent}-${flags}`;
    const span = serverSpanOf(given, given);
    expect(span).toEqual({ id: expect.stringMatching(/^[0-9a-f]{16}$/), parentId: parent, flags: passedOn });
    expect(span?.id).not.toBe(parent);
  });

  it.each(['00', '02', 'fe'])('does not exist for a client’s trace with the flags %s', (flags) => {
    const given = `00-${trace}-${parent}-${flags}`;
    expect(serverSpanOf(given, given)).toBeUndefined();
  });

  it('does not exist for a new trace that is not sampled', () => {
    expect(serverSpanOf(traceparentFrom(undefined, 0), undefined)).toBeUndefined();
  });

  it('has a child for each attempt, whose id the target receives', () => {
    const given = `cc-${trace}-${parent}-01-more`;
    const span = { id: 'b7ad6b71692033fe', parentId: parent, flags: '01' };
    expect([1, 2, 3].map((attempt) => attemptSpanId(span, attempt))).toEqual([
      'b7ad6b71692033ff',
      'b7ad6b7169203300',
      'b7ad6b7169203301',
    ]);
    // Version 00, whatever the version of the client (W3C Trace Context §4.3).
    expect(traceparentOfAttempt(given, span, 2)).toBe(`00-${trace}-b7ad6b7169203300-01`);
  });
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
