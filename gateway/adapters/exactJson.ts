import type { JsonMembers, JsonValue } from '../config/adapterSettings.ts';

// ES2026; the library of TypeScript does not declare them yet.
declare global {
  interface JSON {
    rawJSON(text: string): JsonMembers;
    isRawJSON(value: unknown): value is { readonly rawJSON: string };
  }
}

// Finds such numbers ten times as fast, and finds others as well.
const suspicious = /[0-9](?:\.(?:[0-9]*0(?![0-9])|[0-9]{7})|[eE]|[0-9]{14})|-0(?![\d.])|^-?\d/;

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
  return suspicious.test(text) && respelled.test(text);
}

/** Keeps each number whose text would change. @throws SyntaxError */
export function parseKeeping(text: string): JsonValue {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    return JSON.rawJSON(source);
  }) as JsonValue;
}

/** Whether a value is a JSON object. A number that is kept by its text (`JSON.rawJSON`) is an object to JavaScript, but not here. */
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
