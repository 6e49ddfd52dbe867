import type { JsonValue, Operation } from '../../../config/adapterSettings.ts';

type Conversion = Extract<Operation, { kind: 'convert' }>;

/** The text of a number, also of one that a double cannot hold; undefined for other values. */
export function numberText(value: JsonValue): string | undefined {
  if (typeof value === 'number') return String(value);
  return JSON.isRawJSON(value) ? value.rawJSON : undefined;
}

/** `text`: a JSON number. Undefined: it is too large for a double. */
export function numberOf(text: string): JsonValue | undefined {
  const value = Number(text);
  if (!Number.isFinite(value)) return undefined;
  return String(value) === text ? value : JSON.rawJSON(text);
}

/** Key: the name of a conversion. Value: the function that converts. It returns undefined for a value that cannot be converted. */
export const conversionOf: Readonly<
  Record<Conversion['to'], (value: JsonValue, digits: number) => JsonValue | undefined>
> = {
  number: (value) => {
    if (typeof value !== 'string') return numberText(value) === undefined ? undefined : value;
    const decimal = decimalOf(value);
    return decimal && numberOf(textOfDecimal(decimal));
  },
  integer: (value) => {
    const decimal = decimalOf(typeof value === 'string' ? value : (numberText(value) ?? ''));
    if (!decimal || /[1-9]/.test(decimal.fraction)) return undefined;
    return numberOf(decimal.whole === '0' ? '0' : decimal.sign + decimal.whole);
  },
  string: (value) =>
    typeof value === 'string' ? value : typeof value === 'boolean' ? String(value) : withoutExponent(numberText(value)),
  boolean: (value) => {
    if (typeof value === 'boolean') return value;
    return value === 'true' ? true : value === 'false' ? false : undefined;
  },
  decimal_string: (value, digits) => {
    const padded = typeof value === 'number' ? paddedDecimal(String(value), digits) : undefined;
    if (padded !== undefined) return padded;
    const decimal = decimalOf(typeof value === 'string' ? value : (numberText(value) ?? ''));
    return decimal && fixedDecimal(decimal, digits);
  },
  date: (value) => momentOf(value)?.toISOString().slice(0, 10),
  date_time: (value) => {
    if (typeof value === 'string' && dateTimeText.test(value)) return momentOf(value) && value;
    return momentOf(value)?.toISOString().replace('.000Z', 'Z');
  },
  epoch_seconds: (value) => {
    const moment = momentOf(value);
    return moment && Math.floor(moment.getTime() / 1000);
  },
};

/** The text of a number without an exponent. */
function withoutExponent(text: string | undefined): string | undefined {
  if (text === undefined || !/e/i.test(text)) return text;
  const decimal = decimalOf(text);
  return decimal && textOfDecimal(decimal);
}

function textOfDecimal({ sign, whole, fraction }: Decimal): string {
  return `${sign}${whole}${fraction && `.${fraction}`}`;
}

/** A fast path: most numbers have at most `digits` decimals, and only need zeros at the end. Undefined for all others. */
function paddedDecimal(text: string, digits: number): string | undefined {
  const point = text.indexOf('.');
  const decimals = point === -1 ? 0 : text.length - point - 1;
  if (decimals > digits || digits === 0 || text.includes('e')) return undefined;
  return `${text}${point === -1 ? '.' : ''}${'000000000000000'.slice(0, digits - decimals)}`;
}

const dateTimeText = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;
const dateText = /^\d{4}-\d\d-\d\d$/;

/** The moment of an RFC 3339 text or of a number of seconds. A date is midnight UTC. */
function momentOf(value: JsonValue): Date | undefined {
  const seconds = numberText(value);
  const isText = typeof value === 'string' && (dateTimeText.test(value) || dateText.test(value));
  if (!isText && seconds === undefined) return undefined;
  const moment = isText ? momentOfText(value) : new Date(Number(seconds) * 1000);
  const year = moment?.getUTCFullYear() ?? Number.NaN;
  return Number.isNaN(year) || year < 0 || year > 9999 ? undefined : moment;
}

/** Undefined: there is no such day or time. A leap second, 23:59:60 in UTC, has the moment of the second before it. */
function momentOfText(text: string): Date | undefined {
  // Date accepts 2026-02-30 as a day of March, and 24:00 as the next day.
  if (!isDay(text.slice(0, 10)) || text.startsWith('24', 11)) return undefined;
  if (!text.startsWith(':60', 16)) return new Date(text);
  const moment = new Date(text.replace(':60', ':59'));
  return moment.getUTCHours() === 23 && moment.getUTCMinutes() === 59 ? moment : undefined;
}

/** `text`: `2026-02-28`. Every month has the days up to 28. */
function isDay(text: string): boolean {
  if (Number(text.slice(8)) <= 28) return true;
  const midnight = new Date(text);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text);
}

interface Decimal {
  readonly sign: '-' | '';
  /** Without leading zeros, at least one digit. */
  readonly whole: string;
  readonly fraction: string;
}

const decimalText = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
// A larger exponent would fill the memory with zeros.
const largestExponent = 400;

/** A decimal number without its exponent and leading zeros. Undefined: the text is no number, or its exponent is too large. */
export function decimalOf(text: string): Decimal | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = decimalText.exec(text) ?? [];
  if (whole === '' || Math.abs(Number(exponent)) > largestExponent) return undefined;
  const point = whole.length + Number(exponent);
  const digits = whole + fraction;
  const left = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '';
  const right = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  return { sign: sign === '-' ? '-' : '', whole: left.replace(/^0+(?=\d)/, '') || '0', fraction: right };
}

/**
 * The text of a number with exactly `digits` decimals, rounded half away from zero: 9.5 → `9.50`, 1.005 → `1.01`. Works on decimal digits, not on
 * doubles.
 */
export function fixedDecimal({ sign, whole, fraction }: Decimal, digits: number): string {
  const keptDecimals = fraction.slice(0, digits).padEnd(digits, '0');
  // The number without its point: 9.50 is 950.
  const rounded = BigInt(whole + keptDecimals) + (Number(fraction[digits] ?? '0') >= 5 ? 1n : 0n);
  const text = String(rounded).padStart(digits + 1, '0');
  const unsigned = digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
  return rounded === 0n ? unsigned : sign + unsigned;
}
