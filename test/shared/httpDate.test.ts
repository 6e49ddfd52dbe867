import { describe, expect, it } from 'vitest';
import { httpDate, parseHttpDate } from '../../gateway/shared/httpDate.ts';

/** The result of `parseHttpDate`, in a readable form. */
function read(text: string, now?: string): string | undefined {
  const instant = parseHttpDate(text, now === undefined ? undefined : Date.parse(now));
  return instant === undefined ? undefined : new Date(instant).toISOString();
}

describe('an IMF-fixdate', () => {
  it.each([
    // RFC 9110 §5.6.7
    ['1994-11-06T08:49:37Z', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['1970-01-01T00:00:00Z', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['2028-06-30T23:59:59Z', 'Fri, 30 Jun 2028 23:59:59 GMT'],
    ['2028-02-29T00:00:00Z', 'Tue, 29 Feb 2028 00:00:00 GMT'],
    ['2026-12-31T23:59:59-02:00', 'Fri, 01 Jan 2027 01:59:59 GMT'],
    ['9999-12-31T23:59:59Z', 'Fri, 31 Dec 9999 23:59:59 GMT'],
    // Date.UTC would read these years as 1901 and 1999.
    ['0001-01-01T00:00:00Z', 'Mon, 01 Jan 0001 00:00:00 GMT'],
    ['0099-12-31T00:00:00Z', 'Thu, 31 Dec 0099 00:00:00 GMT'],
  ])('of %s is %s, and is read back', (iso, text) => {
    expect(httpDate(Date.parse(iso))).toBe(text);
    expect(parseHttpDate(text)).toBe(Date.parse(iso));
  });

  it.each([999, 500, 1])('leaves out %i ms', (ms) =>
    expect(httpDate(Date.parse('2028-06-30T23:59:59Z') + ms)).toBe('Fri, 30 Jun 2028 23:59:59 GMT'),
  );

  it.each(
    ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'].map((name, index) => [
      name,
      String(index + 1).padStart(2, '0'),
    ]),
  )('reads %s', (name, number) =>
    expect(read(`Mon, 02 ${name} 2028 03:04:05 GMT`)).toBe(`2028-${number}-02T03:04:05.000Z`),
  );
});

// RFC 9110 §5.6.7: a recipient MUST accept all three.
describe('an older format', () => {
  it.each([
    ['asctime, with a day of one digit', 'Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37.000Z'],
    ['asctime, with a day of two', 'Wed Nov 16 08:49:37 1994', '1994-11-16T08:49:37.000Z'],
    ['asctime, year 1', 'Mon Jan  1 00:00:00 0001', '0001-01-01T00:00:00.000Z'],
    ['RFC 850', 'Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['RFC 850, on a Wednesday', 'Wednesday, 16-Nov-94 08:49:37 GMT', '1994-11-16T08:49:37.000Z'],
    ['RFC 850, in a leap year', 'Tuesday, 29-Feb-28 00:00:00 GMT', '2028-02-29T00:00:00.000Z'],
  ])('is read: %s', (_name, text, expected) => expect(read(text, '2026-11-21')).toBe(expected));

  it.each([
    ['26', '2026-11-21', '2026'],
    ['27', '2026-11-21', '2027'],
    ['00', '2026-11-21', '2000'],
    ['76', '2026-11-21', '2076'],
    ['77', '2026-11-21', '1977'],
    ['99', '2026-11-21', '1999'],
    ['76', '1999-01-01', '1976'],
    ['99', '1999-01-01', '1999'],
    ['50', '2000-01-01', '2050'],
    ['51', '2000-01-01', '1951'],
  ])('of RFC 850 with the year %s is in %s one of %s', (digits, now, year) =>
    expect(read(`Sunday, 02-Jan-${digits} 00:00:00 GMT`, now)).toBe(`${year}-01-02T00:00:00.000Z`),
  );

  it('uses the current time by default', () => {
    const year = new Date().getUTCFullYear();
    const digits = String((year + 10) % 100).padStart(2, '0');
    expect(read(`Sunday, 02-Jan-${digits} 00:00:00 GMT`)).toBe(`${year + 10}-01-02T00:00:00.000Z`);
  });
});

// RFC 9110 §5.6.7 has a grammar for a leap second; JavaScript dates have none.
it.each([
  ['Sat, 31 Dec 2016 23:59:60 GMT', '2016-12-31T23:59:59.000Z'],
  ['Saturday, 31-Dec-16 23:59:60 GMT', '2016-12-31T23:59:59.000Z'],
  ['Sat Dec 31 23:59:60 2016', '2016-12-31T23:59:59.000Z'],
])('the leap second %s is the second before', (text, expected) => expect(read(text, '2026-11-21')).toBe(expected));

describe('not an HTTP date', () => {
  it.each([
    ['nothing', ''],
    ['an ISO date', '2028-06-30'],
    ['an ISO time', '2028-06-30T23:59:59Z'],
    ['seconds', '@1845936000'],
    ['a number', '0'],
    ['another zone', 'Fri, 30 Jun 2028 23:59:59 UTC'],
    ['an offset', 'Fri, 30 Jun 2028 23:59:59 +0000'],
    ['no zone', 'Fri, 30 Jun 2028 23:59:59'],
    ['a day of one digit', 'Fri, 3 Jun 2028 23:59:59 GMT'],
    ['a year of two digits', 'Fri, 30 Jun 28 23:59:59 GMT'],
    ['a year of five digits', 'Fri, 30 Jun 12028 23:59:59 GMT'],
    ['an unknown month', 'Fri, 30 Jux 2028 23:59:59 GMT'],
    ['lower case', 'fri, 30 jun 2028 23:59:59 gmt'],
    ['no day of the week', '30 Jun 2028 23:59:59 GMT'],
    ['space around it', ' Fri, 30 Jun 2028 23:59:59 GMT'],
    ['two dates', 'Fri, 30 Jun 2028 23:59:59 GMT, Sat, 01 Jul 2028 23:59:59 GMT'],
    ['RFC 850 with a short day', 'Fri, 30-Jun-28 23:59:59 GMT'],
    ['RFC 850 with a year of four digits', 'Friday, 30-Jun-2028 23:59:59 GMT'],
    ['RFC 850 with spaces', 'Friday, 30 Jun 28 23:59:59 GMT'],
    ['asctime with a zone', 'Fri Jun 30 23:59:59 2028 GMT'],
    ['asctime with a comma', 'Fri, Jun 30 23:59:59 2028'],
    ['asctime with one space before one digit', 'Fri Jun 3 23:59:59 2028'],
  ])('%s', (_name, text) => expect(parseHttpDate(text)).toBeUndefined());

  // A date that does not exist must not become the next valid date.
  describe.each<[format: string, write: (day: string, month: string, time: string) => string]>([
    ['IMF-fixdate', (day, month, time) => `Fri, ${day} ${month} 2027 ${time} GMT`],
    ['RFC 850', (day, month, time) => `Friday, ${day}-${month}-27 ${time} GMT`],
    ['asctime', (day, month, time) => `Fri ${month} ${day} ${time} 2027`],
  ])('in the form of %s', (_format, write) => {
    it('a date that exists', () =>
      expect(read(write('28', 'Feb', '23:59:59'), '2026-11-21')).toBe('2027-02-28T23:59:59.000Z'));

    it.each([
      ['31', 'Feb', '00:00:00'],
      ['29', 'Feb', '00:00:00'],
      ['31', 'Apr', '00:00:00'],
      ['32', 'Jan', '00:00:00'],
      ['00', 'Jan', '00:00:00'],
      ['01', 'Jan', '24:00:00'],
      ['01', 'Jan', '25:00:00'],
      ['01', 'Jan', '23:60:00'],
      ['01', 'Jan', '10:60:00'],
      ['01', 'Jan', '10:10:61'],
      ['01', 'Jan', '23:59:61'],
      ['01', 'Jax', '00:00:00'],
    ])('%s %s, %s', (day, month, time) => expect(read(write(day, month, time), '2026-11-21')).toBeUndefined());
  });
});
