export const dayMs = 86_400_000;

const numbers = new Intl.NumberFormat('en');
const compactNumbers = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat('en', { style: 'percent', maximumSignificantDigits: 2 });
const threeDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const fullDates = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});
const times = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });

/** `12,345`. @param {number} number */
export const withCommas = (number) => numbers.format(number);

/** @param {number} number */
export const compact = (number) => compactNumbers.format(number);

/** @param {number} share from 0 to 1 */
export const percent = (share) => (share > 0 && share < 0.0001 ? 'below 0.01%' : percents.format(share));

/** @param {number} instant */
export const date = (instant) => fullDates.format(instant);

/** @param {number} instant */
export const dateTime = (instant) => `${fullDates.format(instant)}, ${times.format(instant)}`;

/**
 * `3 clients`, `1 client`.
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export const plural = (number, one, many = `${one}s`) => `${withCommas(number)} ${number === 1 ? one : many}`;

/**
 * A duration in one unit: `7 days`, `1 hour`, `90 minutes`. Uses the largest unit in which the number is at least 2, or exactly 1.
 * @param {number} ms
 */
export function period(ms) {
  for (const [unit, length] of /** @type {const} */ ([
    ['day', dayMs],
    ['hour', 3_600_000],
    ['minute', 60_000],
  ]))
    if (ms >= 2 * length || (ms >= length && ms % length === 0)) return plural(Math.round(ms / length), unit);
  return `${withCommas(Math.round(ms / 1_000))} s`;
}

/** Requests per second. @param {number} perSecond */
export const rate = (perSecond) => (perSecond > 0 && perSecond < 0.01 ? 'below 0.01' : threeDigits.format(perSecond));

/** @param {number|null} ms */
export function milliseconds(ms) {
  if (ms === null) return '–';
  // The upper bound of the histogram.
  if (ms >= 60_000) return '60 s or more';
  return ms < 1_000 ? `${threeDigits.format(ms)} ms` : `${threeDigits.format(ms / 1_000)} s`;
}

/**
 * The time to or since an instant in whole days: `586 days left`, `3 days ago`.
 * @param {number} instant
 * @param {number} now
 */
export function timeLeft(instant, now) {
  const days = Math.floor(Math.abs(instant - now) / dayMs);
  if (days === 0) return instant > now ? 'less than a day left' : 'less than a day ago';
  return `${plural(days, 'day')} ${instant > now ? 'left' : 'ago'}`;
}

/**
 * As `timeLeft`, but with `in 586 days` for `586 days left`.
 * @param {number} instant
 * @param {number} now
 */
export function fromNow(instant, now) {
  if (instant <= now) return timeLeft(instant, now);
  return instant - now < dayMs ? 'within a day' : `in ${plural(Math.floor((instant - now) / dayMs), 'day')}`;
}

/**
 * The time since an instant, in the largest unit that fits.
 * @param {string|null} iso
 * @param {number} now
 */
export function ago(iso, now) {
  if (iso === null) return 'never';
  const passed = now - Date.parse(iso);
  if (passed < 60_000) return 'just now';
  if (passed < 3_600_000) return `${Math.floor(passed / 60_000)} min ago`;
  if (passed < dayMs) return `${Math.floor(passed / 3_600_000)} h ago`;
  return `${plural(Math.floor(passed / dayMs), 'day')} ago`;
}
