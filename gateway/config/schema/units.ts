import { scalar, WrongValue } from './scalar.ts';

const dayMs = 86_400_000;
const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: dayMs };

// The longest timer of Node is 2^31 - 1 ms; a longer one fires at once.
const longestTimerMs = 24 * dayMs;
const longestPeriodMs = 36_500 * dayMs;
// A reload waits for the trial of its targets, and so do later reloads.
const longestTrialMs = 10 * 60_000;

interface DurationRange {
  /** Whether `off` is allowed. It is parsed as 0. */
  readonly allowsOff: boolean;
  readonly maximumMs: number;
}

function duration({ allowsOff, maximumMs }: DurationRange) {
  const example = allowsOff ? 'a duration such as 500ms, 3s or 1h, or off' : 'a duration such as 500ms, 3s or 1h';
  return scalar({
    accepts: ['string', 'number', 'boolean'],
    expected: example,
    json: {
      type: 'string',
      pattern: `^(([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+${allowsOff ? '|off' : ''})$`,
      examples: ['500ms', '3s', '24h'],
    },
    parse: (input) => parseDuration(input, { allowsOff, maximumMs }),
  });
}

function parseDuration(input: string | number | boolean, { allowsOff, maximumMs }: DurationRange): number | WrongValue {
  if (input === 'off' && allowsOff) return 0;
  if (typeof input === 'boolean') return new WrongValue('is a boolean');
  if (typeof input === 'number' || /^[0-9.]+$/.test(input))
    return new WrongValue('has no unit', withUnit(input, allowsOff));
  const parts = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(input) ? input.matchAll(/([\d.]+)(ms|[smhd])/g) : [];
  // -1: no part was found.
  let totalMs = -1;
  for (const [, amount, unit] of parts)
    totalMs = Math.max(totalMs, 0) + Number(amount) * (unitMs[unit ?? ''] ?? Number.NaN);
  if (totalMs < 0) return new WrongValue('is not a duration');
  if (totalMs < 1)
    return new WrongValue(
      'is too short',
      allowsOff ? 'Write off to disable it, or at least 1ms.' : 'Write at least 1ms.',
    );
  return totalMs > maximumMs
    ? new WrongValue(
        'is too long',
        `Write at most ${maximumMs >= dayMs ? `${maximumMs / dayMs}d` : `${maximumMs / 60_000}m`}.`,
      )
    : Math.round(totalMs);
}

function withUnit(input: string | number, allowsOff: boolean): string {
  return Number(input) === 0 && allowsOff ? 'Write off.' : `Write ${input}s or ${input}ms.`;
}

/** Milliseconds for a timer. */
export const timer = duration({ allowsOff: false, maximumMs: longestTimerMs });
export const timerOrOff = duration({ allowsOff: true, maximumMs: longestTimerMs });
/** Milliseconds for a comparison of dates. */
export const period = duration({ allowsOff: false, maximumMs: longestPeriodMs });
export const periodOrOff = duration({ allowsOff: true, maximumMs: longestPeriodMs });

/** How long new targets are tried: a duration, 0 for `off`, or `connect`. */
export const trialPeriod = scalar({
  accepts: ['string', 'number', 'boolean'],
  expected: 'a duration such as 10s, off, or connect',
  json: {
    type: 'string',
    pattern: '^(([0-9]+(\\.[0-9]+)?(ms|s|m))+|off|connect)$',
    examples: ['10s', 'connect', 'off'],
  },
  parse: (input): number | 'connect' | WrongValue =>
    input === 'connect' ? input : parseDuration(input, { allowsOff: true, maximumMs: longestTrialMs }),
});

const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1000,
  KB: 1000,
  KiB: 1024,
  MB: 1e6,
  MiB: 1024 ** 2,
  GB: 1e9,
  GiB: 1024 ** 3,
};

/** Bytes. */
export const size = scalar({
  accepts: ['string', 'number'],
  expected: 'a size such as 16KiB, 10MiB or a number of bytes',
  json: {
    type: ['string', 'integer'],
    pattern: '^[0-9]+(\\.[0-9]+)?(B|[kK]B|KiB|MB|MiB|GB|GiB)?$',
    minimum: 1,
    examples: ['16KiB', '10MiB'],
  },
  parse: (input): number | WrongValue => {
    const [, amount, unit] = /^(\d+(?:\.\d+)?)\s?(B|[kK]B|KiB|MB|MiB|GB|GiB|)$/.exec(String(input)) ?? [];
    if (amount === undefined) return new WrongValue('is not a size');
    const bytes = Number(amount) * (unitBytes[unit ?? ''] ?? 1);
    if (!Number.isSafeInteger(bytes)) return new WrongValue('is not a whole number of bytes');
    return bytes < 1 ? new WrongValue('is less than one byte') : bytes;
  },
});

/** A share, 0 to 1. */
export const share = scalar({
  accepts: ['string', 'number'],
  expected: 'a percentage from 0% to 100%, such as 20%',
  json: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?%$', examples: ['20%', '0.1%'] },
  parse: (input): number | WrongValue => {
    if (typeof input === 'number') return new WrongValue('has no percent sign');
    const percent = /^(\d+(?:\.\d+)?)\s?%$/.exec(input)?.[1];
    if (percent === undefined) return new WrongValue('is not a percentage');
    return Number(percent) > 100 ? new WrongValue('is more than 100%') : Number(percent) / 100;
  },
});

/** Times per second. */
export const rate = scalar({
  accepts: ['string', 'number'],
  expected: 'a rate such as 3/s or 90/m',
  json: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?/[sm]$', examples: ['3/s'] },
  parse: (input): number | WrongValue => {
    if (typeof input === 'number') return new WrongValue('has no unit', `Write ${input}/s.`);
    const [, count, unit] = /^(\d+(?:\.\d+)?)\/([sm])$/.exec(input) ?? [];
    if (count === undefined) return new WrongValue('is not a rate');
    return unit === 'm' ? Number(count) / 60 : Number(count);
  },
});

const datePattern = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?)?$/;

/** An instant in epoch milliseconds, truncated to seconds, as in the headers that carry it. The seconds may be left out. */
export const instant = scalar({
  accepts: ['string', 'number'],
  expected: 'a date such as 2028-06-30, or a time with its zone such as 2028-06-30T23:59:59Z',
  json: {
    type: 'string',
    pattern:
      '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
    examples: ['2028-06-30', '2028-06-30T23:59:59Z'],
  },
  parse: (input) => parseInstant(String(input)),
});

/** An instant with a time of day and a time zone. The seconds may be left out. */
export const dateTime = scalar({
  accepts: ['string', 'number'],
  expected: 'a time with its zone such as 2028-06-30T14:00Z',
  json: {
    type: 'string',
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2})$',
    examples: ['2028-06-30T14:00Z', '2028-06-30T16:00+02:00'],
  },
  parse: (input): number | WrongValue => {
    const [day] = /^[\d-]+$/.exec(String(input)) ?? [];
    if (day !== undefined)
      return new WrongValue('has no time of day', `Write ${day}T14:00Z, with your time and time zone.`);
    return parseInstant(String(input));
  },
});

function parseInstant(input: string): number | WrongValue {
  const match = datePattern.exec(input);
  if (!match) return new WrongValue('is not a date');
  const [, year, month, day, hour, minute, second = '00', zone] = match;
  if (!isCalendarDay(Number(year), Number(month), Number(day))) return new WrongValue('is not a day of the calendar');
  if (hour === undefined) return Date.UTC(Number(year), Number(month) - 1, Number(day));
  if (zone === undefined)
    return new WrongValue('has no time zone', `Write ${input.replace(' ', 'T')}Z, or another zone.`);
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone.toUpperCase()}`);
  // Date.parse accepts 24:00:00, RFC 3339 does not.
  return Number.isNaN(at) || Number(hour) > 23 ? new WrongValue('is not a valid time') : at;
}

function isCalendarDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
