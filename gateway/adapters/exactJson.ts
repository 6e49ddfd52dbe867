import type { JsonMembers, JsonValue } from '../config/adapterSettings.ts';

// ES2026; the library of TypeScript does not declare them yet.
declare global {
  interface JSON {
    rawJSON(text: string): JsonMembers;
    isRawJSON(value: unknown): value is { readonly rawJSON: string };
  }
}

// Numbers that may be written differently after JSON.parse: a fraction that ends with 0, an exponent, -0, and more than 15
// digits. Text that looks like such a number costs time only.
const respelled = /[[:,\s]-?\d+(?:\.\d*0(?!\d)|(?:\.\d+)?[eE])|[[:,\s]-?(?:\d\.?){16}|-0(?![\d.])|^-?\d/;

/**
 * Parses JSON. A number that JSON.stringify would write differently becomes a `JSON.rawJSON` object with its text, so that
 * 12345678901234567890 and 9.50 stay as they are. @throws SyntaxError
 */
export function parseExact(text: string): JsonValue {
  return hasRespelled(text) ? parseKeeping(text) : (JSON.parse(text) as JsonValue);
}

/** Whether `parseExact` may keep numbers of the text by their text. */
export function hasRespelled(text: string): boolean {
  return respelled.test(text);
}

/** Keeps each number whose text would change. @throws SyntaxError */
export function parseKeeping(text: string): JsonValue {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    return JSON.rawJSON(source);
  }) as JsonValue;
}

/** The text of a number, also of one that a double cannot hold; undefined for other values. */
export function numberText(value: JsonValue): string | undefined {
  if (typeof value === 'number') return String(value);
  return JSON.isRawJSON(value) ? value.rawJSON : undefined;
}

/** The number with this text, which is a number of JSON; undefined if it is too large for a double. */
export function numberOf(text: string): JsonValue | undefined {
  const value = Number(text);
  if (!Number.isFinite(value)) return undefined;
  return String(value) === text ? value : JSON.rawJSON(text);
}

/** An object of JSON with members, and not a number as `JSON.rawJSON`. */
export function isMembers(value: JsonValue | undefined): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

/** Sets a member. An assignment to `__proto__` would change the prototype. */
export function setMember(members: JsonMembers, name: string, value: JsonValue): void {
  if (name !== '__proto__') members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Ignores inherited members: a field may have the name `constructor`. */
export function memberOf(members: JsonMembers, name: string): JsonValue | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

interface Decimal {
  readonly sign: '-' | '';
  /** Without leading zeros, at least one digit. */
  readonly whole: string;
  readonly fraction: string;
}

const decimalText = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
// A longer exponent would fill the memory with zeros.
const largestExponent = 400;

/** A decimal number without its exponent and leading zeros; undefined if the text is none, or if it is too large or too small. */
export function decimalOf(text: string): Decimal | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = decimalText.exec(text) ?? [];
  if (whole === '' || Math.abs(Number(exponent)) > largestExponent) return undefined;
  const point = whole.length + Number(exponent);
  const digits = whole + fraction;
  const left = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '';
  const right = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  return { sign: sign === '-' ? '-' : '', whole: left.replace(/^0+(?=\d)/, '') || '0', fraction: right };
}

/** With exactly `digits` decimals, rounded half away from zero: 9.5 → `9.50`, 1.005 → `1.01`. Works on the decimal digits. */
export function fixedDecimal({ sign, whole, fraction }: Decimal, digits: number): string {
  const kept = fraction.slice(0, digits).padEnd(digits, '0');
  const rounded = BigInt(whole + kept) + (Number(fraction[digits] ?? '0') >= 5 ? 1n : 0n);
  const text = String(rounded).padStart(digits + 1, '0');
  const unsigned = digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
  return rounded === 0n ? unsigned : sign + unsigned;
}
