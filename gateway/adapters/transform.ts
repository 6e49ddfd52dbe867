import type { JsonMembers, JsonValue, Keys, Operation } from '../config/adapterSettings.ts';
import { conversionOf, decimalOf, numberText } from './conversions.ts';
import { isJsonObject, memberOf, setMember } from './exactJson.ts';

/** A value cannot be adapted. The error names the place of the value, and never contains the value itself. */
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
 * Combines operations into one function, which changes the given value in place, and returns this value or its replacement.
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

/** Operations on the fields of one object that can be done in one pass over the object. */
interface ObjectPlan {
  readonly kind: 'plan';
  readonly parent: Keys;
  /** Key: the name of a field before the pass. */
  readonly fields: Map<string, FieldPlan>;
  /** Key: the name that a field has after the operations so far. Value: its name before the pass. */
  readonly originalNames: Map<string, string>;
  /** Key: the new name of a renamed field. Used for objects that already have a field with this name. */
  readonly collisions: Map<string, Collision>;
  /** Fields that are set after the pass. Key: the name of the field. */
  readonly added: Map<string, Extract<Operation, { kind: 'default' | 'const' }>>;
}

/** An operation renames `a` to `b`: what is done with a field `b` that an object has before the pass. */
interface Collision {
  readonly renamedField: FieldPlan;
  /** The index of the first step of `renamedField` that follows the rename. Earlier steps do not apply to the old `b`. */
  readonly firstStep: number;
  /** The earlier names of `renamedField`: `a`, and `x` if `x` was renamed to `a`. If an object has one of them, its old `b` is dropped. */
  readonly earlierNames: readonly string[];
}

interface FieldPlan {
  /** Its name after the pass; undefined: it is dropped. */
  target: string | undefined;
  readonly steps: Step[];
}

function grouped(operations: readonly Operation[]): (Operation | ObjectPlan)[] {
  const groups: (Operation | ObjectPlan)[] = [];
  for (const operation of operations) {
    const name = operation.at.at(-1);
    if (operation.kind === 'move' || name === undefined) {
      groups.push(operation);
      continue;
    }
    const last = groups.at(-1);
    if (last?.kind === 'plan' && isSame(last.parent, operation.at.slice(0, -1)) && addTo(last, name, operation))
      continue;
    const plan: ObjectPlan = {
      kind: 'plan',
      parent: operation.at.slice(0, -1),
      fields: new Map(),
      originalNames: new Map(),
      collisions: new Map(),
      added: new Map(),
    };
    addTo(plan, name, operation);
    groups.push(plan);
  }
  return groups;
}

function isSame(a: Keys, b: Keys): boolean {
  return a.length === b.length && a.every((key, index) => key === b[index]);
}

/** False: the operation needs another pass, because an earlier operation of this plan uses the same name. */
function addTo({ fields, originalNames, collisions, added }: ObjectPlan, name: string, operation: Operation): boolean {
  const isUsed = (usedName: string): boolean =>
    [fields, originalNames, collisions, added].some((names) => names.has(usedName));
  if (operation.kind === 'default' || operation.kind === 'const') {
    if (isUsed(name)) return false;
    added.set(name, operation);
    return true;
  }
  const original = originalNames.get(name) ?? name;
  // An earlier operation has dropped or renamed the field. `collisions` has its name if it got it by a rename.
  const isGone = !originalNames.has(name) && (fields.has(name) || collisions.has(name));
  if (added.has(name) || isGone) return false;
  if (operation.kind === 'rename' && isUsed(operation.to.at(-1) ?? '')) return false;
  const field = fields.get(original) ?? { target: name, steps: [] };
  fields.set(original, field);
  originalNames.set(name, original);
  if (operation.kind === 'rename' || operation.kind === 'drop') {
    field.target = operation.kind === 'rename' ? operation.to.at(-1) : undefined;
    originalNames.delete(name);
    if (field.target !== undefined) {
      originalNames.set(field.target, original);
      const earlierNames = [
        original,
        ...[...collisions].flatMap(([earlierName, { renamedField }]) => (renamedField === field ? [earlierName] : [])),
      ];
      collisions.set(field.target, { renamedField: field, firstStep: field.steps.length, earlierNames });
    }
  } else field.steps.push(valueStepOf(operation));
  return true;
}

function stepOf(operation: Operation | ObjectPlan): Step {
  if (operation.kind === 'plan') return within(operation.parent, passOf(operation));
  if (operation.kind === 'move') return (value) => moved(value, operation.at, operation.to);
  return valueStepOf(operation);
}

/** The step that changes the value at the keys of an operation. */
function valueStepOf(operation: Operation): Step {
  switch (operation.kind) {
    case 'const':
      return () => copyOf(operation.value);
    case 'wrap':
      return (value) => [value];
    case 'head':
      return (value) => (Array.isArray(value) ? value[0] : value);
    case 'map':
      return (value) => mapped(value, operation);
    case 'each':
      return eachStep(compileOperations(operation.operations), operation.at);
    case 'convert':
      return (value) => converted(value, operation);
    default:
      return (value) => value;
  }
}

/** A copy, because the settings are frozen, and later operations may change the value. */
function copyOf(constant: JsonValue): JsonValue {
  return typeof constant === 'object' ? structuredClone(constant) : constant;
}

function passOf({ fields, collisions, added }: ObjectPlan): Step {
  const keepsNames = [...fields].every(([name, { target }]) => target === name);
  const actions = new Map<string, FieldPlan | Collision>([...collisions, ...fields]);
  return (value) => {
    if (!isJsonObject(value)) return value;
    const result = keepsNames ? changeFields(value, fields) : renamedCopy(value, actions);
    for (const [name, { kind, value: constant }] of added)
      if (kind === 'const' || !Object.hasOwn(result, name)) setMember(result, name, copyOf(constant));
    return result;
  };
}

function changeFields(members: JsonMembers, fields: ObjectPlan['fields']): JsonMembers {
  for (const [name, { steps }] of fields) {
    const before = memberOf(members, name);
    if (before === undefined) continue;
    const after = afterSteps(before, steps);
    if (after === undefined) delete members[name];
    else if (after !== before) setMember(members, name, after);
  }
  return members;
}

/** A copy with the new names. A renamed field keeps its position, and replaces a field that had the new name before. */
function renamedCopy(members: JsonMembers, actions: ReadonlyMap<string, FieldPlan | Collision>): JsonMembers {
  const copy: JsonMembers = {};
  for (const name of Object.keys(members)) {
    const member = members[name] as JsonValue;
    const action = actions.get(name);
    if (action === undefined) setMember(copy, name, member);
    else if ('earlierNames' in action) {
      const { renamedField, firstStep, earlierNames } = action;
      if (renamedField.target === undefined || earlierNames.some((one) => Object.hasOwn(members, one))) continue;
      const after = afterSteps(member, renamedField.steps.slice(firstStep));
      if (after !== undefined) setMember(copy, renamedField.target, after);
    } else if (action.target !== undefined) {
      const after = afterSteps(member, action.steps);
      if (after !== undefined) setMember(copy, action.target, after);
    }
  }
  return copy;
}

function afterSteps(value: JsonValue, steps: readonly Step[]): JsonValue | undefined {
  let result: JsonValue | undefined = value;
  for (const step of steps) if (result !== undefined) result = step(result);
  return result;
}

/** Moves a field to another object, which is created if it does not exist. */
function moved(value: JsonValue, at: Keys, to: Keys): JsonValue {
  let source: JsonValue | undefined = value;
  for (const key of at.slice(0, -1)) source = isJsonObject(source) ? memberOf(source, key) : undefined;
  const name = at.at(-1) ?? '';
  const field = isJsonObject(source) ? memberOf(source, name) : undefined;
  if (field === undefined || !isJsonObject(source)) return value;
  delete source[name];
  let target = value;
  for (const [depth, key] of to.slice(0, -1).entries()) {
    if (!isJsonObject(target)) throw new AdaptationError(to.slice(0, depth));
    if (!Object.hasOwn(target, key)) setMember(target, key, {});
    target = memberOf(target, key) ?? null;
  }
  if (!isJsonObject(target)) throw new AdaptationError(to.slice(0, -1));
  setMember(target, to.at(-1) ?? '', field);
  return value;
}

/** Applies a step to the value at `keys`. Does nothing if there is no such value. */
function within(keys: readonly string[], step: Step): Step {
  const [key, ...rest] = keys;
  if (key === undefined) return step;
  const innerStep = within(rest, step);
  return (value) => {
    const child = isJsonObject(value) ? memberOf(value, key) : undefined;
    if (child === undefined || !isJsonObject(value)) return value;
    const next = innerStep(child);
    if (next !== undefined && next !== child) setMember(value, key, next);
    return value;
  };
}

/** Applies `changeItem` to each item of an array, or to each value of an object. Leaves null as it is. */
function eachStep(changeItem: (value: JsonValue) => JsonValue, at: Keys): Step {
  return (value) => {
    if (value === null) return value;
    let key: string | number = 0;
    try {
      if (Array.isArray(value)) {
        for (key = 0; key < value.length; key += 1) value[key] = changeItem(value[key] as JsonValue);
        return value;
      }
      if (isJsonObject(value)) {
        for (key of Object.keys(value)) setMember(value, key, changeItem(memberOf(value, key) as JsonValue));
        return value;
      }
    } catch (error) {
      throw error instanceof AdaptationError ? new AdaptationError([...at, key, ...error.keys]) : error;
    }
    throw new AdaptationError(at);
  };
}

type Mapping = Extract<Operation, { kind: 'map' }>;
type Conversion = Extract<Operation, { kind: 'convert' }>;

/** Whether a map has only the key `null`. It then leaves all other values as they are. */
export function mapsOnlyNull({ values }: Pick<Mapping, 'values'>): boolean {
  return values.size === 1 && values.has('null');
}

/** The key of a value in a map: `1` also for the numbers 1.0 and 1e0. Undefined: an array or an object, which a map cannot name. */
export function mapKey(value: JsonValue): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  const text = numberText(value);
  const decimal = text === undefined ? undefined : decimalOf(text);
  if (!decimal) return text;
  const { sign, whole, fraction } = decimal;
  const decimals = fraction.replace(/0+$/, '');
  const digits = decimals === '' ? whole : `${whole}.${decimals}`;
  return digits === '0' ? digits : sign + digits;
}

function mapped(value: JsonValue, mapping: Mapping): JsonValue {
  if (value !== null && mapsOnlyNull(mapping)) return value;
  const key = mapKey(value);
  const after = key === undefined ? undefined : mapping.values.get(key);
  if (after !== undefined) return after;
  if (value === null) return value;
  throw new AdaptationError(mapping.at);
}

/** Leaves null as it is. */
function converted(value: JsonValue, { at, to, digits }: Conversion): JsonValue {
  if (value === null) return value;
  const after = conversionOf[to](value, digits);
  if (after === undefined) throw new AdaptationError(at);
  return after;
}
