import { describe, expect, it } from 'vitest';
import { httpDate, parseHttpDate } from '../../gateway/shared/httpDate.ts';

describe('an IMF-fixdate', () => {
  it.each([
    // RFC 9110 §5.6.7
    ['1994-11-06T08:49:37Z', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['1970-01-01T00:00:00Z', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['2028-06-30T23:59:59Z', 'Fri, 30 Jun 2028 23:59:59 GMT'],
    ['2028-02-29T00:00:00Z', 'Tue, 29 Feb 2028 00:00:00 GMT'],
    ['2026-12-31T23:59:59-02:00', 'Fri, 01 Jan 2027 01:59:59 GMT'],
    ['9999-12-31T23:59:59Z', 'Fri, 31 Dec 9999 23:59:59 GMT'],
  ])('of %s is %s, and reads back as it', (iso, text) => {
    expect(httpDate(Date.parse(iso))).toBe(text);
    expect(parseHttpDate(text)).toBe(Date.parse(iso));
  });

  it.each([999, 500, 1])('leaves out %i ms', (ms) =>
    expect(httpDate(Date.parse('2028-06-30T23:59:59Z') + ms)).toBe('Fri, 30 Jun 2028 23:59:59 GMT'),
  );
});

describe('what is no IMF-fixdate', () => {
  it.each([
    ['nothing', ''],
    ['an ISO date', '2028-06-30'],
    ['an ISO time', '2028-06-30T23:59:59Z'],
    ['seconds', '@1845936000'],
    ['a number', '0'],
    ['another zone', 'Fri, 30 Jun 2028 23:59:59 UTC'],
    ['an offset', 'Fri, 30 Jun 2028 23:59:59 +0000'],
    ['a day of one digit', 'Fri, 3 Jun 2028 23:59:59 GMT'],
    ['a year of two digits', 'Fri, 30 Jun 28 23:59:59 GMT'],
    ['a month that is none', 'Fri, 30 Jux 2028 23:59:59 GMT'],
    ['an hour that is none', 'Fri, 30 Jun 2028 25:00:00 GMT'],
    ['a minute that is none', 'Fri, 30 Jun 2028 23:60:00 GMT'],
    ['a day that is none', 'Fri, 32 Jun 2028 23:59:59 GMT'],
    ['lower case', 'fri, 30 jun 2028 23:59:59 gmt'],
    ['no day of the week', '30 Jun 2028 23:59:59 GMT'],
    ['space around it', ' Fri, 30 Jun 2028 23:59:59 GMT'],
    ['two of them', 'Fri, 30 Jun 2028 23:59:59 GMT, Sat, 01 Jul 2028 23:59:59 GMT'],
  ])('%s', (_name, text) => expect(parseHttpDate(text)).toBeUndefined());
});
