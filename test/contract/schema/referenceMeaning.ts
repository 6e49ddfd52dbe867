import type { SchemaPolicy } from '../../../gateway/contract/schema/policies.ts';
import type { Json, RandomContract } from './randomSchemas.ts';

/** Whether a value is valid, read directly from the schema, without JSON Schema and without ajv. */
export function isValidByReference(contract: RandomContract, value: unknown, use: SchemaPolicy): boolean {
  return new Reference(contract, use).isValid(contract.schema, value);
}

class Reference {
  readonly #contract: RandomContract;
  readonly #use: SchemaPolicy;

  constructor(contract: RandomContract, use: SchemaPolicy) {
    this.#contract = contract;
    this.#use = use;
  }

  /** `writeOnly`: the fields that no response has, by the schema around this one. */
  isValid(schema: unknown, value: unknown, writeOnly: ReadonlySet<string> = new Set()): boolean {
    if (typeof schema === 'boolean') return schema;
    if (typeof schema !== 'object' || schema === null) return true;
    const keywords = schema as Json;
    if (typeof keywords['$ref'] === 'string') {
      const isTargetValid = this.isValid(this.#target(keywords), value);
      if (this.#contract.openapi === '3.0.3') return isTargetValid;
      const { $ref: _ref, ...beside } = keywords;
      return isTargetValid && this.isValid(beside, value, this.#absent(keywords, writeOnly));
    }
    if (value === null && keywords['nullable'] === true) return true;
    return this.#fits(keywords, value, this.#absent(keywords, writeOnly));
  }

  #target({ $ref }: Json): unknown {
    return this.#contract.schemas[String($ref).split('/').at(-1) ?? ''];
  }

  #absent(schema: unknown, outer: ReadonlySet<string>, depth = 0): ReadonlySet<string> {
    const names = new Set(outer);
    if (this.#use.direction !== 'response') return names;
    if (typeof schema !== 'object' || schema === null || depth > 8) return names;
    const { properties, allOf, $ref } = schema as Json;
    for (const [name, field] of Object.entries((properties ?? {}) as Json)) {
      let at = field;
      for (let hops = 0; hops < 8 && typeof (at as Json | undefined)?.['$ref'] === 'string'; hops += 1)
        at = (at as Json)['writeOnly'] === true ? { writeOnly: true } : this.#target(at as Json);
      if (typeof at === 'object' && at !== null && (at as Json)['writeOnly'] === true) names.add(name);
    }
    for (const part of listOf(allOf)) for (const name of this.#absent(part, names, depth + 1)) names.add(name);
    if ($ref !== undefined) return this.#absent(this.#target(schema as Json), names, depth + 1);
    return names;
  }

  #fits(schema: Json, value: unknown, writeOnly: ReadonlySet<string>): boolean {
    const { type, enum: values, allOf, oneOf, anyOf, not, if: condition, then, else: otherwise } = schema;
    const inner = (one: unknown): boolean => this.isValid(one, value, writeOnly);
    const types = [type ?? []].flat();
    if (types.length > 0 && !types.some((one) => hasType(value, String(one)))) return false;
    if (Array.isArray(values) && !values.some((one) => isSame(one, value))) return false;
    if ('const' in schema && !isSame(schema['const'], value)) return false;
    if (!listOf(allOf).every(inner)) return false;
    if (anyOf !== undefined && !listOf(anyOf).some(inner)) return false;
    if (oneOf !== undefined) {
      const count = listOf(oneOf).filter(inner).length;
      if (this.#use.oneOfIsAnyOf ? count === 0 : count !== 1) return false;
    }
    // Below `not` and `if`, a lenient reading would be a stricter one.
    const strict = new Reference(this.#contract, strictUse(this.#use));
    if (not !== undefined && strict.isValid(not, value)) return false;
    if (
      condition !== undefined &&
      !this.isValid((strict.isValid(condition, value) ? then : otherwise) ?? true, value, writeOnly)
    )
      return false;
    if (this.#use.checksDiscriminator && !this.#isChosen(schema, value)) return false;
    if (typeof value === 'number') return this.#fitsNumber(schema, value);
    if (typeof value === 'string') return this.#fitsText(schema, value);
    if (Array.isArray(value)) return this.#fitsList(schema, value);
    return typeof value !== 'object' || value === null || this.#fitsObject(schema, value as Json, writeOnly);
  }

  #isChosen({ discriminator, oneOf, anyOf }: Json, value: unknown): boolean {
    const refs = [...listOf(oneOf), ...listOf(anyOf)].map((one) => (one as Json | undefined)?.['$ref']);
    if (typeof discriminator !== 'object' || discriminator === null || refs.length === 0) return true;
    if (!refs.every((ref) => typeof ref === 'string')) return true;
    const { propertyName, mapping } = discriminator as { propertyName: string; mapping?: object };
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, propertyName))
      return true;
    const known = [...Object.keys(mapping ?? {}), ...refs.map((ref) => ref.split('/').at(-1))];
    return known.includes((value as Json)[propertyName] as string);
  }

  #checks(format: unknown): boolean {
    if (this.#use.formats === 'texts') return /^(?:date|date-time|uuid)$/.test(String(format));
    return this.#use.formats === 'all';
  }

  #fitsNumber(schema: Json, value: number): boolean {
    const { minimum, exclusiveMinimum, multipleOf, format } = schema;
    if (typeof minimum === 'number' && value < minimum) return false;
    if (exclusiveMinimum === true && typeof minimum === 'number' && value <= minimum) return false;
    if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return false;
    const steps = value / Number(multipleOf ?? value);
    if (typeof multipleOf === 'number' && Math.abs(steps - Math.round(steps)) > 1e-9) return false;
    if (!this.#checks(format)) return true;
    if (format === 'int32') return Number.isInteger(value) && Math.abs(value) < 2 ** 31;
    return format !== 'int64' || (Number.isInteger(value) && Math.abs(value) <= 2 ** 63);
  }

  #fitsText({ maxLength, pattern, format }: Json, value: string): boolean {
    if (typeof maxLength === 'number' && [...value].length > maxLength) return false;
    if (pattern === '^[ab]' && !/^[ab]/.test(value)) return false;
    if (pattern === '^[\\w-.]$' && !/^[\w.-]$/.test(value)) return false;
    if (!this.#checks(format)) return true;
    switch (format) {
      case 'date':
        return value === '2026-02-28';
      case 'date-time':
        return value === '2026-02-28T10:00:00Z';
      case 'uuid':
        return value === '00000000-0000-4000-8000-000000000000';
      case 'email':
        return value === 'x@example.com';
      default:
        return true;
    }
  }

  #fitsList({ items, prefixItems, minItems, uniqueItems }: Json, value: readonly unknown[]): boolean {
    if (value.length < Number(minItems ?? 0)) return false;
    if (uniqueItems === true && value.some((one, index) => value.slice(0, index).some((other) => isSame(one, other))))
      return false;
    const first = listOf(prefixItems);
    return value.every((one, index) => this.isValid(index < first.length ? first[index] : (items ?? true), one));
  }

  #fitsObject(schema: Json, value: Json, writeOnly: ReadonlySet<string>): boolean {
    const { properties = {}, required, additionalProperties = true, minProperties, maxProperties } = schema;
    const names = Object.keys(value);
    if (names.length < Number(minProperties ?? 0) || names.length > Number(maxProperties ?? 99)) return false;
    if (listOf(required).some((name) => !writeOnly.has(String(name)) && !names.includes(String(name)))) return false;
    const isOpen = this.#use.isOpen && additionalProperties === false;
    return names.every((name) =>
      Object.hasOwn(properties as object, name)
        ? this.isValid((properties as Json)[name], value[name])
        : isOpen || this.isValid(additionalProperties, value[name]),
    );
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function hasType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  const names = Object.keys(one);
  return (
    Array.isArray(one) === Array.isArray(other) &&
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame((one as Json)[name], (other as Json)[name]))
  );
}

/** Without `oneOfIsAnyOf` and the like. */
function strictUse({ formats, direction }: SchemaPolicy): SchemaPolicy {
  return { formats, ...(direction ? { direction } : {}) };
}
