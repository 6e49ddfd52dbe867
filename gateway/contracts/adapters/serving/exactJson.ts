import type { JsonMembers, JsonValue } from '../../../config/adapterSettings.ts';

// Functions of ES2026 that the library of TypeScript does not declare yet.
declare global {
  interface JSON {
    rawJSON(text: string): JsonMembers;
    isRawJSON(value: unknown): value is { readonly rawJSON: string };
  }
}

// A check before `respelled`, several times as fast for most bodies. It is true if `respelled` is true, and in some other cases.
const suspicious = /[0-9](?:\.(?:[0-9]*0(?![0-9])|[0-9]{7})|[eE]|[0-9]{9}(?:[0-9]{5}|[0-9]*\.))|-0(?![\d.])|^-?\d/;

// Numbers that may be written differently after JSON.parse: a fraction that ends with 0, an exponent, more than 15 digits, a fraction
// below 0.000001, -0, and every text that is only a number. Text in a string may look like such a number. That only costs time.
const respelled = /[[:,\s]-?(?:\d+(?:\.\d*0(?!\d)|(?:\.\d+)?[eE])|(?:\d\.?){16}|0\.0{6})|-0(?![\d.])|^-?\d/;

/**
 * Parses JSON. A number that JSON.stringify would write differently becomes a `JSON.rawJSON` object with its text, so that
 * 12345678901234567890 and 9.50 stay as they are. @throws SyntaxError
 */
export function parseExact(text: string): JsonValue {
  return mustKeepNumbers(text) ? parseKeepingNumbers(text) : (JSON.parse(text) as JsonValue);
}

/** Whether JSON may have a number that JSON.stringify would write differently after JSON.parse. Then its text must be kept. */
export function mustKeepNumbers(text: string): boolean {
  return suspicious.test(text) && respelled.test(text);
}

/** Parses JSON, and keeps the text of each number that would be written differently. @throws SyntaxError */
export function parseKeepingNumbers(text: string): JsonValue {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    return JSON.rawJSON(source);
  }) as JsonValue;
}

/** Whether a value is a JSON object. A number whose text is kept (`JSON.rawJSON`) is an object to JavaScript, but not here. */
export function isJsonObject(value: JsonValue | undefined): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

/** Sets a member. An assignment to `__proto__` would change the prototype. */
export function setMember(members: JsonMembers, name: string, value: JsonValue): void {
  if (name !== '__proto__') members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The value of an own member. Inherited members are ignored, because a field may have the name `constructor`. */
export function memberOf(members: JsonMembers, name: string): JsonValue | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}
