import type { JsonMembers, JsonValue, Keys, Operation } from '../config/adapterSettings.ts';
import { decimalOf, fixedDecimal, isMembers, memberOf, numberOf, numberText, setMember } from './exactJson.ts';

/** A value cannot be adapted. The pointer names its place in the body, and nothing of its content. */
export class AdaptationError extends Error {
  override readonly name = 'AdaptationError';
  /** A JSON Pointer (RFC 6901). */
  readonly pointer: string;
  readonly keys: readonly (string | number)[];

  constructor(keys: readonly (string | number)[]) {
    const pointer = keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
    super(`the value at ${pointer || 'the root'} cannot be adapted`);
    this.pointer = pointer;
    this.keys = keys;
  }
}

/** A step on a value. Undefined: the value is removed. */
type Step = (value: JsonValue) => JsonValue | undefined;

/**
 * Operations as one function. It changes the given value, and returns it or its replacement.
 * The function throws AdaptationError.
 */
export function compileOperations(operations: readonly Operation[]): (value: JsonValue) => JsonValue {
  const steps = grouped(operations).map(stepOf);
  return (value) => {
    let result = value;
    for (const step of steps) {
      const next = step(result);
      if (next === undefined) throw new AdaptationError([]);
      result = next;
    }
    return result;
  };
}

/** Neighbouring `rename` and `drop` operations on one object, which one copy of the object can do. */
interface Reshape {
  readonly kind: 'reshape';
  readonly parent: readonly string[];
  /** By the name of a field: its new name; undefined: it is dropped. */
  readonly targets: Map<string, string | undefined>;
  /** By a new name: the old one. */
  readonly sources: Map<string, string>;
}

function grouped(operations: readonly Operation[]): (Operation | Reshape)[] {
  const groups: (Operation | Reshape)[] = [];
  for (const operation of operations) {
    if (operation.kind !== 'rename' && operation.kind !== 'drop') {
      groups.push(operation);
      continue;
    }
    const parent = operation.at.slice(0, -1);
    const name = operation.at.at(-1) ?? '';
    const target = operation.kind === 'rename' ? operation.to.at(-1) : undefined;
    const last = groups.at(-1);
    const isNeighbour = last?.kind === 'reshape' && isSame(last.parent, parent) && areNew(last, name, target ?? name);
    const group: Reshape = isNeighbour ? last : { kind: 'reshape', parent, targets: new Map(), sources: new Map() };
    group.targets.set(name, target);
    if (target !== undefined) group.sources.set(target, name);
    if (!isNeighbour) groups.push(group);
  }
  return groups;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, index) => key === b[index]);
}

/** A name that an earlier operation of the group reads or writes needs a step of its own. */
function areNew({ targets, sources }: Reshape, ...names: readonly string[]): boolean {
  return names.every((name) => !targets.has(name) && !sources.has(name));
}

function stepOf(operation: Operation | Reshape): Step {
  switch (operation.kind) {
    case 'reshape':
      return within(operation.parent, (value) => reshaped(value, operation));
    case 'move':
      return (value) => moved(value, operation.at, operation.to);
    case 'const':
    case 'default':
      return constantStep(operation.at, operation.value, operation.kind === 'default');
    case 'wrap':
      return atField(operation.at, (value) => [value]);
    case 'head':
      return atField(operation.at, (value) => (Array.isArray(value) ? value[0] : value));
    case 'map':
      return atField(operation.at, (value) => mapped(value, operation));
    case 'each':
      return atField(operation.at, eachStep(compileOperations(operation.operations), operation.at));
    case 'convert':
      return atField(operation.at, (value) => converted(value, operation));
    default:
      throw new TypeError(`${operation.kind} is a part of a reshape`);
  }
}

/** Applies a step to a field that is present. */
function atField(at: Keys, step: Step): Step {
  const name = at.at(-1);
  if (name === undefined) return step;
  return within(at.slice(0, -1), (parent) => {
    const before = isMembers(parent) ? memberOf(parent, name) : undefined;
    if (before === undefined || !isMembers(parent)) return parent;
    const after = step(before);
    if (after === undefined) delete parent[name];
    else if (after !== before) setMember(parent, name, after);
    return parent;
  });
}

/** Sets a field of an object that exists. */
function constantStep(at: Keys, constant: JsonValue, onlyIfAbsent: boolean): Step {
  // The settings are frozen, and later operations may change the value.
  const made = (): JsonValue => (typeof constant === 'object' ? structuredClone(constant) : constant);
  const name = at.at(-1);
  if (name === undefined) return onlyIfAbsent ? (value) => value : made;
  return within(at.slice(0, -1), (parent) => {
    if (isMembers(parent) && !(onlyIfAbsent && Object.hasOwn(parent, name))) setMember(parent, name, made());
    return parent;
  });
}

/** Moves a field to another object, which is created if it does not exist. */
function moved(value: JsonValue, at: Keys, to: Keys): JsonValue {
  let source: JsonValue | undefined = value;
  for (const key of at.slice(0, -1)) source = isMembers(source) ? memberOf(source, key) : undefined;
  const name = at.at(-1) ?? '';
  const field = isMembers(source) ? memberOf(source, name) : undefined;
  if (field === undefined || !isMembers(source)) return value;
  delete source[name];
  let target = value;
  for (const [depth, key] of to.slice(0, -1).entries()) {
    if (!isMembers(target)) throw new AdaptationError(to.slice(0, depth));
    if (!Object.hasOwn(target, key)) setMember(target, key, {});
    target = memberOf(target, key) ?? null;
  }
  if (!isMembers(target)) throw new AdaptationError(to.slice(0, -1));
  setMember(target, to.at(-1) ?? '', field);
  return value;
}

/** Applies a step to an object within the value. Does nothing if the object does not exist. */
function within(keys: readonly string[], step: Step): Step {
  const [key, ...rest] = keys;
  if (key === undefined) return step;
  const inner = within(rest, step);
  return (value) => {
    const child = isMembers(value) ? memberOf(value, key) : undefined;
    if (child === undefined || !isMembers(value)) return value;
    const next = inner(child);
    if (next !== undefined && next !== child) setMember(value, key, next);
    return value;
  };
}

/** Applies `inner` to each item of an array, or to each value of an object. Leaves null as it is. */
function eachStep(inner: (value: JsonValue) => JsonValue, at: Keys): Step {
  return (value) => {
    if (value === null) return value;
    let key: string | number = 0;
    try {
      if (Array.isArray(value)) {
        for (key = 0; key < value.length; key += 1) value[key] = inner(value[key] as JsonValue);
        return value;
      }
      if (isMembers(value)) {
        for (key of Object.keys(value)) setMember(value, key, inner(memberOf(value, key) as JsonValue));
        return value;
      }
    } catch (error) {
      throw error instanceof AdaptationError ? new AdaptationError([...at, key, ...error.keys]) : error;
    }
    throw new AdaptationError(at);
  };
}

/** A copy with other names. A renamed field keeps its position, and replaces one that had its new name before. */
function reshaped(value: JsonValue, { targets, sources }: Reshape): JsonValue {
  if (!isMembers(value)) return value;
  const copy: JsonMembers = {};
  for (const name of Object.keys(value)) {
    const member = value[name] as JsonValue;
    if (targets.has(name)) {
      const target = targets.get(name);
      if (target !== undefined) setMember(copy, target, member);
    } else {
      const source = sources.get(name);
      if (source === undefined || !Object.hasOwn(value, source)) setMember(copy, name, member);
    }
  }
  return copy;
}

type Mapping = Extract<Operation, { kind: 'map' }>;
type Conversion = Extract<Operation, { kind: 'convert' }>;

/** Whether a map names null only. It then leaves all other values as they are. */
export function mapsOnlyNull({ values }: Pick<Mapping, 'values'>): boolean {
  return values.size === 1 && values.has('null');
}

/** The key of a value in a map. Undefined: an array or an object, which a map cannot name. */
export function mapKey(value: JsonValue): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return String(value);
  return numberText(value);
}

function mapped(value: JsonValue, mapping: Mapping): JsonValue {
  const after = mapping.values.get(mapKey(value) ?? '');
  if (after !== undefined && mapKey(value) !== undefined) return after;
  if (value === null || mapsOnlyNull(mapping)) return value;
  throw new AdaptationError(mapping.at);
}

/** Leaves null as it is. */
function converted(value: JsonValue, { at, to, digits }: Conversion): JsonValue {
  if (value === null) return value;
  const after = conversionOf[to](value, digits);
  if (after === undefined) throw new AdaptationError(at);
  return after;
}

/** Each returns undefined for a value that it cannot convert. */
export const conversionOf: Readonly<
  Record<Conversion['to'], (value: JsonValue, digits: number) => JsonValue | undefined>
> = {
  number: (value) => {
    if (typeof value !== 'string') return numberText(value) === undefined ? undefined : value;
    const decimal = decimalOf(value);
    return decimal && numberOf(`${decimal.sign}${decimal.whole}${decimal.fraction && `.${decimal.fraction}`}`);
  },
  integer: (value) => {
    const decimal = decimalOf(typeof value === 'string' ? value : (numberText(value) ?? ''));
    if (!decimal || /[1-9]/.test(decimal.fraction)) return undefined;
    return numberOf(decimal.whole === '0' ? '0' : decimal.sign + decimal.whole);
  },
  string: (value) =>
    typeof value === 'string' ? value : typeof value === 'boolean' ? String(value) : numberText(value),
  boolean: (value) => {
    if (typeof value === 'boolean') return value;
    return value === 'true' ? true : value === 'false' ? false : undefined;
  },
  decimal_string: (value, digits) => {
    const decimal = decimalOf(typeof value === 'string' ? value : (numberText(value) ?? ''));
    return decimal && fixedDecimal(decimal, digits);
  },
  date: (value) => momentOf(value)?.toISOString().slice(0, 10),
  date_time: (value) => {
    if (typeof value === 'string' && hasTime.test(value)) return momentOf(value) && value;
    return momentOf(value)?.toISOString().replace('.000Z', 'Z');
  },
  epoch_seconds: (value) => {
    const moment = momentOf(value);
    return moment && Math.floor(moment.getTime() / 1000);
  },
};

const hasTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;
const isDate = /^\d{4}-\d\d-\d\d$/;

/** The moment of an RFC 3339 text or of a number of seconds. A date is midnight UTC. */
function momentOf(value: JsonValue): Date | undefined {
  const seconds = numberText(value);
  const isText = typeof value === 'string' && (hasTime.test(value) || isDate.test(value));
  if (!isText && seconds === undefined) return undefined;
  const moment = new Date(isText ? value : Number(seconds) * 1000);
  const year = moment.getUTCFullYear();
  if (Number.isNaN(year) || year < 0 || year > 9999) return undefined;
  // Date accepts 2026-02-30 as a day of March.
  return isText && isDate.test(value) && moment.toISOString().slice(0, 10) !== value ? undefined : moment;
}
