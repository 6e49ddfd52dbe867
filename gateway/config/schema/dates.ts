import { scalar, Wrong } from './scalar.ts';

const shape = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?([Zz]|[+-]\d{2}:\d{2})?)?$/;

/** An instant in epoch milliseconds, cut to the second: the headers that carry it know no more. */
export const instant = scalar({
  accepts: ['string', 'number'],
  expected: 'a date such as 2028-06-30, or a time with its zone such as 2028-06-30T23:59:59Z',
  json: {
    type: 'string',
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
    examples: ['2028-06-30', '2028-06-30T23:59:59Z'],
  },
  parse: (input): number | Wrong => {
    const match = shape.exec(String(input));
    if (!match) return new Wrong('is not a date');
    const [, year, month, day, hour, minute, second, zone] = match;
    if (!isDay(Number(year), Number(month), Number(day))) return new Wrong('is a day that no calendar has');
    if (hour === undefined) return Date.UTC(Number(year), Number(month) - 1, Number(day));
    if (zone === undefined)
      return new Wrong('has no time zone', `Write ${String(input).replace(' ', 'T')}Z, or the zone that is meant.`);
    const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone.toUpperCase()}`);
    // 24:00:00 is a time to Date.parse and none to RFC 3339.
    return Number.isNaN(at) || Number(hour) > 23 ? new Wrong('is a time that no clock shows') : at;
  },
});

function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
