import { z } from 'zod';
import { isMap, memberName } from '../../shared/json.ts';
import { conversions, type JsonValue, type Keys, type Operation } from '../adapterSettings.ts';
import { ExpandedText } from '../expand.ts';
import type { Path } from '../fault.ts';
import { nearest } from '../nearest.ts';
import { expandedValue, nameOfType, nullToEmptyMap, type ScalarIssue, section } from './scalar.ts';
import { size } from './units.ts';
import { integer, oneOf, text, versionName } from './words.ts';

/** The operations: the key in routes.yaml, and what the operation does. */
const meanings = {
  rename: 'Gives a field another name: { old: new }.',
  move: 'Moves a field to another object: { /address/city: /city }.',
  default: 'Adds a field if it is absent: { field: value }.',
  const: 'Sets a field, present or not: { field: value }.',
  drop: 'Removes a field, or a list of fields.',
  map: 'Replaces the values of a field: { field: { old: new } }.',
  each: 'Applies operations to each item of an array, or to each value of a map: { field: [operations] }.',
  wrap: 'Replaces a value by an array that has it as the only item.',
  head: 'Replaces an array by its first item.',
  convert: 'Changes the type of a field: { field: number }.',
} as const;

const kinds = Object.keys(meanings) as (keyof typeof meanings)[];
const deepestNesting = 16;

/** Operations as routes.yaml has them. Each is a map with one key, whose value may name several fields. */
const operations = z
  .unknown()
  .transform((input, context): readonly Operation[] => {
    const reader = new OperationReader();
    const list = reader.readOperations(input, []);
    for (const { path, predicate, remedy } of reader.problems) {
      const params: ScalarIssue = { predicate, remedy, isWrongType: false };
      context.issues.push({ code: 'custom', input, message: predicate, path: [...path], params: { ...params } });
    }
    return reader.problems.length > 0 ? z.NEVER : list;
  })
  .meta({
    type: 'array',
    items: {
      type: 'object',
      minProperties: 1,
      maxProperties: 1,
      propertyNames: { enum: kinds },
      additionalProperties: {},
      description: kinds.map((kind) => `${kind}: ${meanings[kind]}`).join(' '),
    },
  });

const adapterRoute = section({
  to: text('a route of the other version such as "GET /cocktails/{id}"')
    .optional()
    .describe('The route of the other version that answers, such as "GET /cocktails/{id}".'),
  gone: text('the reason')
    .optional()
    .describe('Why the other version cannot answer. Requests are answered 410 with this reason.'),
  request: section({
    path: operations.optional().describe('Operations on the path parameters.'),
    query: operations.optional().describe('Operations on the query parameters.'),
    body: operations.optional().describe('Operations on the body of a POST.'),
  })
    .optional()
    .describe('How a request to this version is changed into a request to the other version.'),
  response: z
    .preprocess(nullToEmptyMap, z.record(z.string(), operations))
    .optional()
    .describe(
      'How a response of the other version is changed into a response of this version, by status: 200, 4XX or default.',
    ),
});

/** How a version is served from the backend of another one. */
export const adapter = section({
  from: versionName.optional().describe('The version whose backend answers, such as /v2. Required.'),
  mode: oneOf(['off', 'shadow', 'serve'])
    .prefault('off')
    .describe(
      "off: the adapter is checked, but not used. shadow: adapted responses are compared with those of this version's own backend. serve: clients get adapted responses; a reload accepts this mode only after clean comparisons.",
    ),
  body: size.prefault('1MiB').describe('The largest body that is adapted, after decoding.'),
  pairs: integer(1, 1_000_000)
    .prefault(200)
    .describe('The number of clean comparisons that `mode: serve` requires for each route in use.'),
  routes: z
    .preprocess(nullToEmptyMap, z.record(z.string(), adapterRoute))
    .prefault({})
    .describe(
      'The routes of this version, such as "GET /drinks/{id}", each with `to` or `gone`. Requests to other routes are answered 410.',
    ),
}).describe(
  'Serves this version from the backend of another one, by operations on requests and responses. See docs/adapters.md.',
);

interface Problem {
  readonly path: Path;
  /** The text after the path in the message: `is empty`. */
  readonly predicate: string;
  readonly remedy: string;
}

/** Reads a list of operations and collects what is wrong with it. */
class OperationReader {
  readonly problems: Problem[] = [];

  readOperations(input: unknown, path: Path, depth = 0): Operation[] {
    const value = expandedValue(input);
    if (value === null || value === undefined) return [];
    if (!Array.isArray(value)) return this.#addProblem(path, `is ${nameOfType(value)}`, 'Write a list of operations.');
    if (depth > deepestNesting)
      return this.#addProblem(path, `is nested deeper than ${deepestNesting} levels`, 'Flatten it.');
    return value.flatMap((item: unknown, index) => this.#operation(item, [...path, index], depth));
  }

  #operation(input: unknown, path: Path, depth: number): Operation[] {
    const example = 'Write a map with one key, such as { rename: { name: title } }.';
    if (!isPlainMap(input)) return this.#addProblem(path, `is ${nameOfType(input)}`, example);
    const [name, ...others] = Object.keys(input);
    if (name === undefined) return this.#addProblem(path, 'has no key', example);
    if (others.length > 0) {
      const remedy = 'Write each as an item of its own: operations run in the order of the list.';
      return this.#addProblem(path, `has several operations: ${[name, ...others].join(', ')}`, remedy);
    }
    const kind = kinds.find((one) => one === name);
    if (kind === undefined) {
      const best = nearest(name.toLowerCase(), kinds);
      const remedy = best === undefined ? `Write one of ${kinds.join(', ')}.` : `Did you mean ${best}?`;
      return this.#addProblem(path, `has the unknown operation ${name}`, remedy);
    }
    const value = expandedValue(input[name]);
    const place = [...path, kind];
    if (kind === 'drop' || kind === 'wrap' || kind === 'head') return this.#operationsOnFields(kind, value, place);
    if (!isPlainMap(value) || Object.keys(value).length === 0)
      return this.#addProblem(
        place,
        isPlainMap(value) ? 'is empty' : `is ${nameOfType(value)}`,
        `Write a map. ${meanings[kind]}`,
      );
    return Object.entries(value).flatMap(([field, argument]) => {
      const keys = this.#keys(field, [...place, field]);
      return keys ? this.#withArgument(kind, keys, argument, [...place, field], depth) : [];
    });
  }

  #operationsOnFields(kind: 'drop' | 'wrap' | 'head', value: unknown, place: Path): Operation[] {
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (list.length === 0) return this.#addProblem(place, 'is empty', `Write a field. ${meanings[kind]}`);
    return list.flatMap((item, index) => {
      const itemPlace = Array.isArray(value) ? [...place, index] : place;
      const keys = this.#keys(item, itemPlace);
      if (keys?.length === 0 && kind === 'drop')
        return this.#addProblem(itemPlace, 'is the whole value', 'Name a field.');
      return keys ? [{ kind, at: keys, place: itemPlace }] : [];
    });
  }

  #withArgument(
    kind: Exclude<keyof typeof meanings, 'drop' | 'wrap' | 'head'>,
    at: Keys,
    argument: unknown,
    place: Path,
    depth: number,
  ): Operation[] {
    if (kind === 'each') return [{ kind, at, place, operations: this.readOperations(argument, place, depth + 1) }];
    if (kind === 'convert') return this.#conversion(at, argument, place);
    if (kind === 'map') return this.#mapping(at, argument, place);
    if (kind === 'rename' || kind === 'move') return this.#renameOrMove(kind, at, argument, place);
    const value = this.#json(argument, place);
    return value === undefined ? [] : [{ kind, at, place, value }];
  }

  #renameOrMove(kind: 'rename' | 'move', at: Keys, argument: unknown, place: Path): Operation[] {
    const to = this.#keys(argument, place);
    if (!to) return [];
    if (at.length === 0 || to.length === 0) return this.#addProblem(place, 'moves the whole value', 'Name a field.');
    if (kind === 'rename' && (to.length > 1 || String(expandedValue(argument)).startsWith('/')))
      return this.#addProblem(place, 'is not the name of a field', 'Write a name without /, or use move.');
    const target = kind === 'rename' ? [...at.slice(0, -1), ...to] : to;
    const [targetText, sourceText] = [target.join('\0'), at.join('\0')];
    if (targetText === sourceText)
      return this.#addProblem(place, 'is the same field', 'Write another name, or remove it.');
    if (`${targetText}\0`.startsWith(`${sourceText}\0`))
      return this.#addProblem(place, 'is within the moved field', 'Move it to another object.');
    return [{ kind, at, place, to: target }];
  }

  #mapping(at: Keys, argument: unknown, place: Path): Operation[] {
    const map = expandedValue(argument);
    if (!isPlainMap(map) || Object.keys(map).length === 0)
      return this.#addProblem(
        place,
        `is ${isPlainMap(map) ? 'empty' : nameOfType(map)}`,
        'Write a map of values: { old: new }.',
      );
    const values = new Map<string, JsonValue>();
    for (const [from, to] of Object.entries(map)) {
      const value = this.#json(to, [...place, from]);
      if (typeof value === 'object' && value !== null)
        this.#addProblem([...place, from], `is ${nameOfType(to)}`, 'Write a single value.');
      else if (value !== undefined) values.set(from, value);
    }
    return [{ kind: 'map', at, place, values }];
  }

  #conversion(at: Keys, argument: unknown, place: Path): Operation[] {
    const conversionForms = `${conversions.filter((name) => name !== 'decimal_string').join(', ')} or decimal_string(2)`;
    const text = expandedValue(argument);
    const [, name = '', , digits] = /^([a-z_]+)(\((\d{1,2})\))?$/.exec(typeof text === 'string' ? text : '') ?? [];
    const to = conversions.find((one) => one === name);
    if (to === undefined || (to === 'decimal_string') !== (digits !== undefined))
      return this.#addProblem(place, 'is not a conversion', `Write ${conversionForms}.`);
    if (Number(digits ?? 0) > 15)
      return this.#addProblem(place, 'has more than 15 digits', 'Write decimal_string(15) or less.');
    return [{ kind: 'convert', at, place, to, digits: Number(digits ?? 0) }];
  }

  /** A name is a member of the value; a text that begins with / is a JSON Pointer (RFC 6901); '' is the value itself. */
  #keys(input: unknown, path: Path): Keys | undefined {
    const text = expandedValue(input);
    if (typeof text !== 'string') {
      this.#addProblem(
        path,
        `is ${nameOfType(text)}`,
        'Write the name of a field, or a JSON Pointer such as /address/city.',
      );
      return undefined;
    }
    if (text === '') return [];
    if (!text.startsWith('/')) return [text];
    if (/~(?![01])/.test(text)) {
      this.#addProblem(path, 'is not a JSON Pointer', 'Write ~0 for ~ and ~1 for /.');
      return undefined;
    }
    return text
      .slice(1)
      .split('/')
      .map((key) => memberName(key));
  }

  #json(input: unknown, path: Path): JsonValue | undefined {
    const value = expandedValue(input);
    if (value === undefined) return undefined;
    if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
    if (typeof value === 'number') {
      if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return value;
      this.#addProblem(path, 'is a number that cannot be represented exactly', 'Write a smaller number, or a text.');
      return undefined;
    }
    if (Array.isArray(value)) {
      const items = value.map((item: unknown, index) => this.#json(item, [...path, index]));
      return items.some((item) => item === undefined) ? undefined : (items as JsonValue[]);
    }
    if (!isPlainMap(value)) return undefined;
    const entries = Object.entries(value).map(([key, item]) => [key, this.#json(item, [...path, key])] as const);
    return entries.some(([, item]) => item === undefined)
      ? undefined
      : (Object.fromEntries(entries) as Record<string, JsonValue>);
  }

  /** Adds a problem. Returns no operations, so that callers can return the result. */
  #addProblem(path: Path, predicate: string, remedy: string): [] {
    this.problems.push({ path, predicate, remedy });
    return [];
  }
}

function isPlainMap(value: unknown): value is Record<string, unknown> {
  return isMap(value) && !(value instanceof ExpandedText);
}
