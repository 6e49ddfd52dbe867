import type { JsonMembers, JsonValue } from '../../../config/adapterSettings.ts';
import { listOf, TooManyAlternatives } from '../../../contract/schema/alternatives.ts';
import type { NamedSchemas, PlainSchema, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { isEqual } from '../../../contract/schema/keywords.ts';
import { regExpOf } from '../../../contract/schema/patterns.ts';
import { decimalOf } from '../serving/conversions.ts';
import { setMember } from '../serving/exactJson.ts';
import { branchesOf, listedValuesOf, propertiesOf, requiredOf, typesOf } from './branches.ts';
import { largestValueOf } from './formats.ts';
import { pick, type Random, randomFrom, textFor } from './patternTexts.ts';

/** The values of a schema cannot be generated, for example because of recursion without an end or an unsupported pattern. */
class Unsampled extends Error {}

const maxDepth = 12;
// In values nested deeper than this, optional fields and items are left out, so that recursive values end.
const sparseDepth = 5;
// They are also left out once a value has this many parts, except near its root.
const maxParts = 200;
// The largest values of schemas without a limit.
const longTextLength = 2000;
const largeNumber = 1e9;

/** Generates values of schemas. The same seed gives the same values. */
export class SchemaSampler {
  readonly #named: NamedSchemas;
  readonly #branchesBySchema = new Map<SubSchema, readonly PlainSchema[]>();
  readonly #random: Random;
  readonly #absenceKeyword: 'readOnly' | 'writeOnly';
  #extreme: 'least' | 'most' | undefined;
  /** The number of parts of the value so far. */
  #partCount = 0;

  /** Fields that are `readOnly` are left out of requests, and `writeOnly` ones out of responses. */
  constructor(
    named: NamedSchemas,
    { direction, seed }: { readonly direction: 'request' | 'response'; readonly seed: number },
  ) {
    this.#named = named;
    this.#random = randomFrom(seed);
    this.#absenceKeyword = direction === 'request' ? 'readOnly' : 'writeOnly';
  }

  /**
   * A value that is probably valid. Conditions such as `if` and `not` are ignored. `extreme`: as small or as large as possible.
   * Undefined: none can be generated.
   */
  next(schema: SubSchema, extreme?: 'least' | 'most'): JsonValue | undefined {
    this.#extreme = extreme;
    this.#partCount = 0;
    try {
      return this.#value(schema, 0);
    } catch (error) {
      if (error instanceof Unsampled || error instanceof TooManyAlternatives) return undefined;
      throw error;
    }
  }

  #isSparse(depth: number): boolean {
    return depth > sparseDepth || (depth > 2 && this.#partCount > maxParts);
  }

  /** True with this probability, from 0 to 1. */
  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #value(schema: SubSchema, depth: number): JsonValue {
    if (depth > maxDepth) throw new Unsampled();
    this.#partCount += 1;
    const branches = this.#branchesBySchema.get(schema) ?? branchesOf(schema, this.#named);
    this.#branchesBySchema.set(schema, branches);
    if (branches.length === 0) throw new Unsampled();
    const scalars = branches.filter(
      (branch) => !typesOf(branch)?.some((type) => type === 'object' || type === 'array'),
    );
    const branch = pick(this.#isSparse(depth) && scalars.length > 0 ? scalars : branches, this.#random);
    const values = listedValuesOf(branch);
    if (values?.length === 0) throw new Unsampled();
    if (values) return pick(values, this.#random) as JsonValue;
    const types = typesOf(branch) ?? ['string', 'integer', 'boolean'];
    const nonNullTypes = types.filter((type) => type !== 'null');
    const type =
      nonNullTypes.length === 0 || (types.includes('null') && this.#chance(0.2))
        ? 'null'
        : pick(nonNullTypes, this.#random);
    switch (type) {
      case 'null':
        return null;
      case 'boolean':
        return this.#chance(0.5);
      case 'string':
        return this.#text(branch);
      case 'integer':
      case 'number':
        return this.#number(branch, type === 'integer');
      case 'array':
        return this.#list(branch, depth);
      default:
        return this.#members(branch, depth);
    }
  }

  #members(branch: PlainSchema, depth: number): JsonValue {
    const members: JsonMembers = {};
    const required = new Set(requiredOf(branch));
    for (const [name, schema] of Object.entries(propertiesOf(branch))) {
      if (typeof schema === 'object' && schema[this.#absenceKeyword] === true) continue;
      const presentShare = this.#extreme === 'least' || this.#isSparse(depth) ? 0 : this.#extreme === 'most' ? 1 : 0.6;
      const isPresent = required.has(name) || this.#chance(presentShare);
      if (isPresent && schema !== false) setMember(members, name, this.#value(schema, depth + 1));
    }
    const { additionalProperties, minProperties } = branch;
    if (typeof additionalProperties !== 'object' || additionalProperties === null) return members;
    const least = Math.max(0, Number(minProperties ?? 0) - Object.keys(members).length);
    const count = least + (this.#isSparse(depth) ? 0 : Math.floor(this.#random() * 3));
    for (let index = 0; index < count; index += 1)
      setMember(members, `key_${index}`, this.#value(additionalProperties as PlainSchema, depth + 1));
    return members;
  }

  #list(branch: PlainSchema, depth: number): JsonValue {
    const items: JsonValue[] = listOf(branch['prefixItems']).map((item) => this.#value(item, depth + 1));
    const least = Number(branch['minItems'] ?? 0);
    const isLong = this.#extreme === 'most' && depth < 2;
    const most = Math.min(Number(branch['maxItems'] ?? Number.POSITIVE_INFINITY), least + (isLong ? 30 : 3));
    const isSparse = this.#isSparse(depth);
    const count = isSparse ? least : this.#between(least, most);
    const schema = (branch['items'] ?? true) as SubSchema;
    for (let tries = 0; items.length < count && tries < count * 10 && schema !== false; tries += 1) {
      const last = items.at(-1);
      const isUnique = branch['uniqueItems'] === true;
      const item =
        last === undefined || isUnique || this.#chance(0.8) ? this.#value(schema, depth + 1) : structuredClone(last);
      if (!isUnique || !items.some((one) => isEqual(one, item))) items.push(item);
    }
    return items;
  }

  /** A number from `least` to `most`. The limits are more likely than other numbers. */
  #between(least: number, most: number): number {
    const random = this.#random();
    if (this.#extreme === 'least' || (random < 0.15 && !this.#extreme)) return least;
    if (this.#extreme === 'most' || random < 0.3) return most;
    return least + Math.floor(this.#random() * (most - least + 1));
  }

  #text(branch: PlainSchema): string {
    const { pattern, format } = branch;
    const least = Number(branch['minLength'] ?? 0);
    const most = Number(branch['maxLength'] ?? Number.POSITIVE_INFINITY);
    if (typeof pattern === 'string') {
      for (let tries = 0; tries < 20; tries += 1) {
        const text = textFor(pattern, this.#random);
        if (text === undefined) continue;
        const padded = text.padEnd(least, 'x');
        if (padded.length <= most && regExpOf(pattern)?.test(padded)) return padded;
      }
      throw new Unsampled();
    }
    const formatted = typeof format === 'string' ? this.#formatted(format) : undefined;
    if (formatted !== undefined && formatted.length >= least && formatted.length <= most) return formatted;
    // A limit above 10,000 counts as none.
    const usualMost = least + (this.#extreme === 'most' ? longTextLength : 12);
    const length = this.#between(least, most <= 10_000 ? most : usualMost);
    const start = Array.from({ length: Math.min(length, 4) }, () => pick(letters, this.#random)).join('');
    return start + filler.slice(0, length - start.length).padEnd(length - start.length, filler);
  }

  #formatted(format: string): string | undefined {
    const time = new Date(Math.floor(this.#random() * 4e9) * 1000).toISOString();
    const hex = (length: number): string =>
      Array.from({ length }, () => pick([...'0123456789abcdef'], this.#random)).join('');
    switch (format) {
      case 'date':
        return time.slice(0, 10);
      case 'date-time':
        return time.replace('.000Z', this.#chance(0.2) ? '+02:00' : 'Z');
      case 'time':
        return time.slice(11, 19).concat('Z');
      case 'uuid':
        return [hex(8), hex(4), `4${hex(3)}`, `a${hex(3)}`, hex(12)].join('-');
      case 'email':
        return `${hex(6)}@example.com`;
      case 'uri':
      case 'url':
        return `https://example.com/${hex(4)}`;
      case 'uri-reference':
        return `/${hex(4)}`;
      case 'ipv4':
        return `192.0.2.${this.#between(1, 254)}`;
      case 'byte':
        return Buffer.from(hex(6)).toString('base64');
      default:
        return undefined;
    }
  }

  /** A number without `multipleOf` gets two decimals at most. */
  #number(branch: PlainSchema, isInteger: boolean): number {
    const step = typeof branch['multipleOf'] === 'number' ? branch['multipleOf'] : isInteger ? 1 : 0.01;
    const decimals = decimalOf(String(step))?.fraction.length ?? 0;
    const scale = 10 ** decimals;
    const scaledStep = Math.round(step * scale);
    // Until the last line, limits and results are numbers of steps: 3 stands for 3 times `step`.
    const limitOf = (key: 'minimum' | 'maximum', exclusiveKey: string): number | undefined => {
      const isLower = key === 'minimum';
      const [inclusive, exclusive] = [branch[key], branch[exclusiveKey]];
      if (typeof inclusive !== 'number' && typeof exclusive !== 'number') return undefined;
      const value = typeof inclusive === 'number' ? inclusive : Number(exclusive);
      const steps = isLower
        ? Math.ceil((value * scale) / scaledStep - 1e-9)
        : Math.floor((value * scale) / scaledStep + 1e-9);
      const isExcluded = typeof exclusive === 'number' && (steps * scaledStep) / scale === exclusive;
      return isExcluded ? steps + (isLower ? 1 : -1) : steps;
    };
    const largestOfFormat = largestValueOf[String(branch['format'])];
    const range = Math.floor(((this.#extreme ? (largestOfFormat ?? largeNumber) : 1000) * scale) / scaledStep);
    const low = limitOf('minimum', 'exclusiveMinimum');
    const high = limitOf('maximum', 'exclusiveMaximum');
    const lowest = low ?? (high ?? 0) - range;
    const steps = this.#between(lowest, Math.max(lowest, high ?? Math.max(0, lowest) + range));
    return Number(((steps * scaledStep) / scale).toFixed(decimals));
  }
}

const filler = 'abcdefghij0123456789 -_.,äß€';
const letters = [...'abcdefghijklmnopqrstuvwxyz ABC0123456789-_.,äß€'];
