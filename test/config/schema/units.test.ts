import { describe, expect, it } from 'vitest';
import { instant, period, rate, share, size, timer, timerOrOff } from '../../../gateway/config/schema/units.ts';
import { read } from './read.ts';

describe('refuses', () => {
  it.each([
    ['timer', timer, 3, 'has no unit'],
    ['timer', timer, '3', 'has no unit'],
    ['timer', timer, 'off', 'is not a duration'],
    ['timer', timer, '3 s', 'is not a duration'],
    ['timer', timer, '3S', 'is not a duration'],
    ['timer', timer, '1e3s', 'is not a duration'],
    ['timer', timer, 's', 'is not a duration'],
    ['timer', timer, '', 'is not a duration'],
    ['timer', timer, '0.4ms', 'is too short'],
    ['timer', timer, '25d', 'is too long'],
    ['timer', timer, null, 'is empty'],
    ['timer', timer, ['3s'], 'is a list'],
    ['timer', timer, undefined, 'is missing'],
    ['timerOrOff', timerOrOff, false, 'is a boolean'],
    ['timerOrOff', timerOrOff, '0s', 'is too short'],
    ['period', period, '99999999d', 'is too long'],
    ['size', size, '10 mib', 'is not a size'],
    ['size', size, '0', 'is less than one byte'],
    ['size', size, '0.3B', 'is not a whole number of bytes'],
    ['size', size, '9999999999GiB', 'is not a whole number of bytes'],
    ['share', share, 20, 'has no percent sign'],
    ['share', share, '101%', 'is more than 100%'],
    ['share', share, '-1%', 'is not a percentage'],
    ['rate', rate, 3, 'has no unit'],
    ['rate', rate, '3/h', 'is not a rate'],
    ['instant', instant, '2026-02-29', 'is not a day of the calendar'],
    ['instant', instant, '2026-13-01', 'is not a day of the calendar'],
    ['instant', instant, '2026-06-31T00:00:00Z', 'is not a day of the calendar'],
    ['instant', instant, '2026-06-30T12:00:00', 'has no time zone'],
    ['instant', instant, '2026-06-30T24:00:00Z', 'is not a valid time'],
    ['instant', instant, '2026-06-30T12:60:00Z', 'is not a valid time'],
    ['instant', instant, '2026-06-30T12Z', 'is not a date'],
    ['instant', instant, '30.06.2026', 'is not a date'],
    ['instant', instant, 1782777600, 'is not a date'],
  ])('$0: $2 $3', (_name, schema, input, predicate) => {
    expect(read(schema, input)).toBe(`refused: ${predicate}`);
  });
});

describe('reads', () => {
  it.each([
    ['timer', timer, '3s', 3000],
    ['timer', timer, '500ms', 500],
    ['timer', timer, '1.5s', 1500],
    ['timer', timer, '1m30s', 90_000],
    ['timer', timer, '24d', 2_073_600_000],
    ['timerOrOff', timerOrOff, 'off', 0],
    ['period', period, '400d', 34_560_000_000],
    ['size', size, '16KiB', 16_384],
    ['size', size, '10MiB', 10_485_760],
    ['size', size, '1.5 kB', 1500],
    ['size', size, 1024, 1024],
    ['share', share, '20%', 0.2],
    ['share', share, '0.1%', 0.001],
    ['rate', rate, '3/s', 3],
    ['rate', rate, '90/m', 1.5],
    ['instant', instant, '2026-06-30', Date.UTC(2026, 5, 30)],
    ['instant', instant, '2026-06-30T12:00Z', Date.UTC(2026, 5, 30, 12)],
    ['instant', instant, '2028-02-29', Date.UTC(2028, 1, 29)],
    ['instant', instant, '2028-06-30T23:59:59Z', Date.UTC(2028, 5, 30, 23, 59, 59)],
    ['instant', instant, '2028-06-30T23:59:59.999+02:00', Date.UTC(2028, 5, 30, 21, 59, 59)],
  ])('$0: $2', (_name, schema, input, value) => {
    expect(read(schema, input)).toEqual(value);
  });
});
