/** Freezes plain objects and lists all the way down. Maps are only read-only by type, and what is in them is frozen. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of value instanceof Map ? value.values() : Object.values(value)) deepFreeze(inner);
  return value;
}
