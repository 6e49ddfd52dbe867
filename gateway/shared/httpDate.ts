/** An instant as IMF-fixdate (RFC 9110 §5.6.7): `Fri, 30 Jun 2028 23:59:59 GMT`. ECMAScript specifies this format. */
export function httpDate(instant: number): string {
  return new Date(instant).toUTCString();
}

let currentSecond = Number.NaN;
let currentDate = '';

/** The current date, formatted once a second. */
export function currentHttpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== currentSecond) {
    currentSecond = second;
    currentDate = httpDate(second * 1000);
  }
  return currentDate;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const timePattern = '(?<h>[0-9]{2}):(?<m>[0-9]{2}):(?<s>[0-9]{2})';
const weekday = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const longWeekday = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';

const formats = [
  new RegExp(`^${weekday}, (?<day>[0-9]{2}) (?<month>[A-Z][a-z]{2}) (?<year>[0-9]{4}) ${timePattern} GMT$`),
  new RegExp(`^${longWeekday}, (?<day>[0-9]{2})-(?<month>[A-Z][a-z]{2})-(?<year>[0-9]{2}) ${timePattern} GMT$`),
  new RegExp(`^${weekday} (?<month>[A-Z][a-z]{2}) (?<day>[0-9 ][0-9]) ${timePattern} (?<year>[0-9]{4})$`),
];

/**
 * Parses a date in the three formats that recipients must accept. Undefined for anything else, and for a day or hour that
 * does not exist. `now` decides the century of a two-digit year.
 */
export function parseHttpDate(text: string, now = Date.now()): number | undefined {
  for (const format of formats) {
    const groups = format.exec(text)?.groups;
    if (groups) return instantOf(groups, now);
  }
  return undefined;
}

function instantOf(parts: Record<string, string>, now: number): number | undefined {
  const [date, hour, minute] = [Number(parts['day']), Number(parts['h']), Number(parts['m'])];
  const month = months.indexOf(parts['month'] ?? '');
  // Leap seconds are valid, but Date does not have them.
  const second = Math.min(Number(parts['s']), 59);
  const instant = new Date(0);
  instant.setUTCFullYear(yearOf(parts['year'] ?? '', now), month, date);
  instant.setUTCHours(hour, minute, second);
  const exists = instant.getUTCMonth() === month && instant.getUTCDate() === date && hour < 24 && minute < 60;
  return exists && Number(parts['s']) <= 60 ? instant.getTime() : undefined;
}

/** RFC 9110 §5.6.7: a year more than 50 years ahead belongs to the previous century. */
function yearOf(digits: string, now: number): number {
  if (digits.length === 4) return Number(digits);
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}
