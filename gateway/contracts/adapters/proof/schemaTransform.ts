import { type JsonValue, type Keys, keyOfOperation, type Operation } from '../../../config/adapterSettings.ts';
import { nearest } from '../../../config/nearest.ts';
import { TooManyAlternatives } from '../../../contract/schema/alternatives.ts';
import type { NamedSchemas, PlainSchema, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import {
  allowsNull,
  branchesOf,
  constantSchema,
  hasFirstItem,
  hasType,
  isAlwaysPresent,
  kindInWords,
  listedValuesOf,
  propertiesOf,
  propertyOf,
  requiredOf,
  typesOf,
  unionOf,
  valuesSchema,
  withField,
  withFieldSchema,
  withoutField,
  withoutNull,
  withRenamedField,
} from './branches.ts';
import { convertedSchema, eachSchema, firstItemSchema, mappedSchema, type ReportProblem } from './conversionSchema.ts';
import { markedForFormats } from './formats.ts';

/** What is wrong with an operation. Its place in routes.yaml is that of the operation. */
export interface OperationProblem {
  readonly operation: Operation;
  readonly message: string;
  readonly remedy: string;
  readonly isWarning: boolean;
}

type SchemaChange = (branch: PlainSchema) => SubSchema;
const anyValue: SubSchema & true = true;

/**
 * Applies operations to schemas as `compileOperations` does to values. The new schema allows all values that the operations make.
 */
export class SchemaTransform {
  readonly problems: OperationProblem[] = [];
  /** What the schema allows, besides objects, where the operations look for fields. */
  readonly otherTypes = new Map<string, readonly string[]>();
  readonly #named: NamedSchemas;
  readonly #isValid: (schema: SubSchema, value: JsonValue) => boolean;

  /** `isValid`: whether a value satisfies a schema of `named`. */
  constructor(named: NamedSchemas, isValid: (schema: SubSchema, value: JsonValue) => boolean) {
    this.#named = named;
    this.#isValid = isValid;
  }

  /** If an operation is faulty, the result is the schema of any value. */
  apply(schema: SubSchema, operations: readonly Operation[]): SubSchema {
    let result = schema;
    for (const operation of operations) {
      const problemCount = this.problems.length;
      try {
        result = this.#applyOne(result, operation);
      } catch (error) {
        if (!(error instanceof TooManyAlternatives)) throw error;
        const remedy = 'Mark the route as gone, with the reason.';
        this.#fault(operation, 'The schema has too many alternatives to be followed.', remedy);
      }
      // Operations after a faulty one are skipped: most of their faults would only follow from it.
      if (this.problems.slice(problemCount).some(({ isWarning }) => !isWarning)) return anyValue;
    }
    return result;
  }

  #applyOne(schema: SubSchema, operation: Operation): SubSchema {
    const { at } = operation;
    switch (operation.kind) {
      case 'rename':
      case 'move':
        return this.#moved(schema, operation, operation.to);
      case 'drop':
        return this.#inParent(schema, at, operation, withoutField);
      case 'const':
        if (at.length === 0) return constantSchema(operation.value);
        return this.#inParent(schema, at, operation, (object, name) =>
          withField(object, name, constantSchema(operation.value)),
        );
      case 'default':
        if (at.length === 0) return this.#fault(operation, 'The whole value is never absent.', 'Name a field.');
        return this.#inParent(schema, at, operation, (object, name) => this.#defaulted(object, name, operation));
      default:
        return this.#changedAt(schema, operation);
    }
  }

  /** Applies a change to the object that has the last of `keys`. */
  #inParent(
    schema: SubSchema,
    keys: Keys,
    operation: Operation,
    change: (object: PlainSchema, name: string) => PlainSchema | undefined,
  ): SubSchema {
    const name = keys.at(-1) ?? '';
    return this.#within(schema, keys.slice(0, -1), operation, (parent) =>
      this.#onObjects(parent, operation, name, (object) => change(object, name)),
    );
  }

  /** Applies a change to the schema at `keys`. */
  #within(schema: SubSchema, keys: Keys, operation: Operation, change: (inner: SubSchema) => SubSchema): SubSchema {
    const [key, ...rest] = keys;
    if (key === undefined) return change(schema);
    return this.#onObjects(schema, operation, key, (object) => {
      const inner = propertyOf(object, key);
      return inner === undefined
        ? undefined
        : withFieldSchema(object, key, this.#within(inner, rest, operation, change));
    });
  }

  /**
   * Applies a change to each alternative that is an object. The change returns undefined for an object without the field `name`.
   */
  #onObjects(
    schema: SubSchema,
    operation: Operation,
    name: string,
    change: (object: PlainSchema) => SubSchema | undefined,
  ): SubSchema {
    const branches = branchesOf(schema, this.#named);
    const objects = branches.filter((branch) => hasType(branch, 'object'));
    this.#noteOtherTypes(operation, branches);
    const problemCount = this.problems.length;
    if (objects.length === 0) {
      const isArray = branches.some((branch) => hasType(branch, 'array'));
      const remedy = isArray ? 'Use each for the items of an array.' : 'Name a field of an object.';
      const message = `${name || 'The value'} is looked up in ${kindInWords(branches)}, which has no fields.`;
      return this.#fault(operation, message, remedy);
    }
    let isFound = false;
    const result = branches.map((branch) => {
      const changed = hasType(branch, 'object') ? change(branch) : branch;
      if (changed !== branch && changed !== undefined) isFound = true;
      return changed ?? branch;
    });
    if (isFound || this.problems.length > problemCount) return unionOf(result);
    const fieldNames = [...new Set(objects.flatMap((object) => Object.keys(propertiesOf(object))))];
    const nearestName = nearest(name, fieldNames);
    const hint = fieldNames.length === 0 ? 'It names no fields.' : `It has ${fieldNames.slice(0, 12).join(', ')}.`;
    return this.#fault(
      operation,
      `The contract has no field ${name} here.`,
      nearestName === undefined ? hint : `Did you mean ${nearestName}?`,
    );
  }

  #noteOtherTypes(operation: Operation, branches: readonly PlainSchema[]): void {
    const types = branches.flatMap((branch) => typesOf(branch) ?? ['any']).filter((type) => type !== 'object');
    if (types.length === 0) return;
    const key = keyOfOperation(operation);
    const names = types.map((type) => (type === 'integer' ? 'number' : type));
    this.otherTypes.set(key, [...new Set([...(this.otherTypes.get(key) ?? []), ...names])]);
  }

  #defaulted(
    object: PlainSchema,
    name: string,
    operation: Operation & { readonly kind: 'const' | 'default' },
  ): PlainSchema {
    const { value } = operation;
    const existing = propertyOf(object, name);
    if (existing === undefined) return withField(object, name, constantSchema(value));
    if (requiredOf(object).includes(name)) {
      const message = `${name} is always present, so its default is never used.`;
      this.problems.push({ operation, message, remedy: 'Remove it.', isWarning: true });
      // Unchanged, but a new object: that tells `#onObjects` that the field was found.
      return { ...object };
    }
    const { readOnly: _readOnly, writeOnly: _writeOnly, ...keywords } = typeof existing === 'object' ? existing : {};
    return withField(object, name, this.#including(typeof existing === 'object' ? keywords : existing, value));
  }

  /** The schema with one more valid value. */
  #including(schema: SubSchema, value: JsonValue): SubSchema {
    if (this.#isValid(schema, value)) return schema;
    const branches = branchesOf(schema, this.#named);
    const [only, ...others] = branches;
    const values = only && others.length === 0 ? listedValuesOf(only) : undefined;
    return values ? valuesSchema([...values, value]) : unionOf([...branches, constantSchema(value)]);
  }

  #moved(schema: SubSchema, operation: Operation, to: Keys): SubSchema {
    const { at } = operation;
    if (operation.kind === 'rename') return this.#renamed(schema, operation, to.at(-1) ?? '');
    const firstDifference = at.findIndex((key, index) => key !== to[index]);
    // The number of keys to the innermost object around both places.
    const depth = Math.max(0, Math.min(firstDifference, at.length - 1, to.length - 1));
    return this.#within(schema, at.slice(0, depth), operation, (parent) => {
      const name = at[depth] ?? '';
      return this.#onObjects(parent, operation, name, (object) => {
        if (propertyOf(object, name) === undefined) return undefined;
        const moved = this.#movedWithin(withoutNull(object) ?? object, at.slice(depth), to.slice(depth), operation);
        return allowsNull(object) ? unionOf([moved, { type: 'null' }]) : moved;
      });
    });
  }

  #movedWithin(schema: PlainSchema, at: Keys, to: Keys, operation: Operation): SubSchema {
    const name = at.at(-1) ?? '';
    const foundFields: SubSchema[] = [];
    const withoutSource = this.#within(schema, at.slice(0, -1), operation, (parent) =>
      this.#onObjects(parent, operation, name, (object) => {
        const field = propertyOf(object, name);
        if (field !== undefined) foundFields.push(field);
        return withoutField(object, name);
      }),
    );
    if (foundFields.length === 0) return anyValue;
    return this.#placed(withoutSource, to, unionOf(foundFields), isAlwaysPresent(schema, at, this.#named), operation);
  }

  #renamed(schema: SubSchema, operation: Operation, to: string): SubSchema {
    return this.#inParent(schema, operation.at, operation, (object, name) => {
      if (propertyOf(object, name) !== undefined && propertyOf(object, to) !== undefined)
        this.#reportTaken(operation, to);
      return withRenamedField(object, name, to);
    });
  }

  #reportTaken(operation: Operation, name: string): typeof anyValue {
    return this.#fault(operation, `The contract has a field ${name} here already.`, 'Drop or rename that field first.');
  }

  /** Puts a field into an object, which is created if it does not exist. */
  #placed(schema: SubSchema, to: Keys, field: SubSchema, isRequired: boolean, operation: Operation): SubSchema {
    const [key = '', ...rest] = to;
    const branches = branchesOf(schema, this.#named);
    if (!branches.some((branch) => hasType(branch, 'object')))
      return this.#fault(
        operation,
        `${key} cannot be added to ${kindInWords(branches)}.`,
        'Name a field of an object.',
      );
    return unionOf(
      branches.map((object) => {
        if (!hasType(object, 'object')) return object;
        const existing = propertyOf(object, key);
        if (rest.length === 0) {
          if (existing !== undefined) return this.#reportTaken(operation, key);
          return withField(object, key, field, isRequired);
        }
        const wasRequired = requiredOf(object).includes(key);
        const emptyObject = { type: 'object', properties: {}, required: [] };
        const target = existing === undefined ? emptyObject : wasRequired ? existing : unionOf([existing, emptyObject]);
        const placed = this.#placed(target, rest, field, isRequired, operation);
        return withField(object, key, placed, isRequired || wasRequired);
      }),
    );
  }

  /** Applies an operation to the field that it names. An operation that names no field applies to the whole value. */
  #changedAt(schema: SubSchema, operation: Operation): SubSchema {
    const { at } = operation;
    const name = at.at(-1);
    if (name === undefined) return this.#changedValue(schema, operation);
    return this.#inParent(schema, at, operation, (object) => {
      const field = propertyOf(object, name);
      if (field === undefined) return undefined;
      const mayBeRemoved = operation.kind === 'head' && !hasFirstItem(field, this.#named);
      const required = requiredOf(object).filter((other) => !(mayBeRemoved && other === name));
      return { ...withFieldSchema(object, name, this.#changedValue(field, operation)), required };
    });
  }

  #changedValue(schema: SubSchema, operation: Operation): SubSchema {
    if (operation.kind === 'wrap') return { type: 'array', items: schema, minItems: 1, maxItems: 1 };
    const nullAfter = operation.kind === 'map' ? operation.values.get('null') : undefined;
    return unionOf(
      branchesOf(schema, this.#named).flatMap((branch) => {
        const nonNull = withoutNull(branch);
        const result: SubSchema[] = nonNull ? [this.#changeOf(operation)(nonNull)] : [];
        if (!nonNull || allowsNull(branch))
          result.push(nullAfter === undefined ? { type: 'null' } : constantSchema(nullAfter));
        return result;
      }),
    );
  }

  #changeOf(operation: Operation): SchemaChange {
    const report: ReportProblem = (message, remedy, { isWarning } = { isWarning: false }) => {
      this.problems.push({ operation, message, remedy, isWarning });
      return anyValue;
    };
    switch (operation.kind) {
      case 'each':
        return (branch) => eachSchema(branch, (schema) => this.apply(schema, operation.operations), report);
      case 'head':
        return (branch) => firstItemSchema(branch, operation, hasFirstItem(branch, this.#named), report);
      case 'map':
        return (branch) => mappedSchema(branch, operation, report);
      case 'convert':
        return (branch) => markedForFormats(convertedSchema(branch, operation, report));
      default:
        return (branch) => branch;
    }
  }

  #fault(operation: Operation, message: string, remedy: string): typeof anyValue {
    this.problems.push({ operation, message, remedy, isWarning: false });
    return anyValue;
  }
}
