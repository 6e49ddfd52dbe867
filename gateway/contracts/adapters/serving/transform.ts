import {
  type JsonMembers,
  type JsonValue,
  type Keys,
  keyOfOperation,
  type Operation,
  type OtherTypes,
} from '../../../config/adapterSettings.ts';
import { pointerToken } from '../../../shared/json.ts';
import { conversionOf, decimalOf, numberText } from './conversions.ts';
import { isJsonObject, memberOf, setMember } from './exactJson.ts';

/** A value cannot be adapted. The error names the place of the value, and never contains the value itself. */
export class AdaptationError extends Error {
  override readonly name = 'AdaptationError';
  /** A JSON Pointer (RFC 6901). */
  readonly pointer: string;
  readonly keys: readonly (string | number)[];

  constructor(keys: readonly (string | number)[]) {
    const pointer = keys.map((key) => `/${pointerToken(String(key))}`).join('');
    super(`the value at ${pointer || 'the root'} cannot be adapted`);
    this.pointer = pointer;
    this.keys = keys;
  }
}

/** A step on a value. Undefined: the value is removed. */
type Step = (value: JsonValue) => JsonValue | undefined;

/**
 * Combines operations into one function, which changes the given value in place, and returns this value or its replacement.
 * The function throws AdaptationError, also for a value without fields where an operation looks for a field, unless `otherTypes` allows
 * the value: a body with other contents than expected must not pass unchanged. Null may stand for an object within the value.
 */
export function compileOperations(
  operations: readonly Operation[],
  otherTypes: OtherTypes = new Map(),
): (value: JsonValue) => JsonValue {
  return compiled(operations, { otherTypes, isWhole: true });
}

/** `isWhole`: the operations are those of a whole body, and not of the items of an array. */
interface Scope {
  readonly otherTypes: OtherTypes;
  readonly isWhole: boolean;
}

function compiled(operations: readonly Operation[], scope: Scope): (value: JsonValue) => JsonValue {
  const steps = grouped(operations, scope).map((one) => stepOf(one, scope));
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

/**
 * Whether an operation may look for a field in `value`. False: the value has no fields, and stays as it is.
 * @throws AdaptationError
 */
type HasFields = (value: JsonValue, keys: Keys) => value is JsonMembers;

function fieldsCheckOf(operations: readonly Operation[], { otherTypes, isWhole }: Scope): HasFields {
  const allowed = new Set(operations.flatMap((operation) => otherTypes.get(keyOfOperation(operation)) ?? []));
  return (value, keys): value is JsonMembers => {
    if (isJsonObject(value)) return true;
    const isAbsent = value === null && (keys.length > 0 || !isWhole);
    if (isAbsent || allowed.has('any') || allowed.has(typeWithoutFields(value))) return false;
    throw new AdaptationError(keys);
  };
}

/** As JSON Schema names it. `value`: no object. */
function typeWithoutFields(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  // A number whose text is kept is an object to JavaScript.
  return typeof value === 'object' ? 'number' : typeof value;
}

/** Operations on the fields of one object that can be done in one pass over the object. */
interface ObjectPlan {
  readonly kind: 'plan';
  readonly parent: Keys;
  readonly operations: Operation[];
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

function grouped(operations: readonly Operation[], scope: Scope): (Operation | ObjectPlan)[] {
  const groups: (Operation | ObjectPlan)[] = [];
  for (const operation of operations) {
    const name = operation.at.at(-1);
    if (operation.kind === 'move' || name === undefined) {
      groups.push(operation);
      continue;
    }
    const last = groups.at(-1);
    if (last?.kind === 'plan' && isSame(last.parent, operation.at.slice(0, -1)) && addTo(last, name, operation, scope))
      continue;
    const plan: ObjectPlan = {
      kind: 'plan',
      parent: operation.at.slice(0, -1),
      operations: [],
      fields: new Map(),
      originalNames: new Map(),
      collisions: new Map(),
      added: new Map(),
    };
    addTo(plan, name, operation, scope);
    groups.push(plan);
  }
  return groups;
}

function isSame(a: Keys, b: Keys): boolean {
  return a.length === b.length && a.every((key, index) => key === b[index]);
}

/** False: the operation needs another pass, because an earlier operation of this plan uses the same name. */
function addTo(plan: ObjectPlan, name: string, operation: Operation, scope: Scope): boolean {
  const isAdded = addOperation(plan, name, operation, scope);
  if (isAdded) plan.operations.push(operation);
  return isAdded;
}

function addOperation(
  { fields, originalNames, collisions, added }: ObjectPlan,
  name: string,
  operation: Operation,
  scope: Scope,
): boolean {
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
  } else field.steps.push(valueStepOf(operation, scope));
  return true;
}

function stepOf(operation: Operation | ObjectPlan, scope: Scope): Step {
  const hasFields = fieldsCheckOf(operation.kind === 'plan' ? operation.operations : [operation], scope);
  if (operation.kind === 'plan') return within(operation.parent, passOf(operation, hasFields), hasFields);
  if (operation.kind === 'move') return (value) => moved(value, operation.at, operation.to, hasFields);
  return valueStepOf(operation, scope);
}

/** The step that changes the value at the keys of an operation. */
function valueStepOf(operation: Operation, { otherTypes }: Scope): Step {
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
      return eachStep(compiled(operation.operations, { otherTypes, isWhole: false }), operation.at);
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

function passOf({ parent, fields, collisions, added }: ObjectPlan, hasFields: HasFields): Step {
  const keepsNames = [...fields].every(([name, { target }]) => target === name);
  const actions = new Map<string, FieldPlan | Collision>([...collisions, ...fields]);
  return (value) => {
    if (!hasFields(value, parent)) return value;
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
function moved(value: JsonValue, at: Keys, to: Keys, hasFields: HasFields): JsonValue {
  let source: JsonValue | undefined = value;
  for (const [depth, key] of at.slice(0, -1).entries())
    source = source !== undefined && hasFields(source, at.slice(0, depth)) ? memberOf(source, key) : undefined;
  const name = at.at(-1) ?? '';
  if (source === undefined || !hasFields(source, at.slice(0, -1))) return value;
  const field = memberOf(source, name);
  if (field === undefined) return value;
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
function within(keys: Keys, step: Step, hasFields: HasFields, depth = 0): Step {
  const key = keys[depth];
  if (key === undefined) return step;
  const innerStep = within(keys, step, hasFields, depth + 1);
  return (value) => {
    if (!hasFields(value, keys.slice(0, depth))) return value;
    const child = memberOf(value, key);
    if (child === undefined) return value;
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
