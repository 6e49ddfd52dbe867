/** A JSON object, or a map of YAML. */
export type JsonMap = Readonly<Record<string, unknown>>;

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is a map, or else an empty one. `Value`: the members, which are not checked. */
export function membersOf<Value = unknown>(value: unknown): Readonly<Record<string, Value>> {
  return isMap(value) ? (value as Readonly<Record<string, Value>>) : {};
}

/** The name of a member as a part of a JSON Pointer (RFC 6901): `/drinks` → `~1drinks`. */
export function pointerToken(name: string): string {
  return name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name;
}

/** The name of the member that a part of a pointer means. */
export function memberName(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}
