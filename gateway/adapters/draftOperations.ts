import { isEqual } from '../compat/schema/keywords.ts';
import type { JsonValue, Keys, Operation } from '../config/adapterSettings.ts';
import {
  allowsNull,
  branchesOf,
  propertiesOf,
  type SubSchema,
  TooManyBranches,
  typesOf,
  valuesOf,
} from './branches.ts';
import type { PlainSchema } from './bundle.ts';
import { type Field, fieldsOf, movedFields, renamesFor, type SpareField } from './draftFields.ts';
import {
  alternativesOf,
  annotationOf,
  type Certainty,
  conversionFor,
  isObject,
  likenessOf,
  mappingFor,
  type NamedSchemasPair,
  unknownValue,
  valuesInWords,
} from './draftValues.ts';

/** An operation of a draft, with a note for its reader. */
export interface DraftedOperation {
  /** Its `place` is its id. An `each` has its operations in `inner`. */
  readonly operation: Operation;
  readonly certainty: Certainty;
  /** Empty if it is certain. */
  readonly note: string;
  readonly inner: readonly DraftedOperation[];
}

export interface DraftContext extends NamedSchemasPair {
  readonly direction: 'request' | 'response';
  /** `/v1` */
  readonly receiver: string;
  readonly nextId: () => string;
  /** The names of path parameters in the receiving contract, by their names in the sending contract. */
  readonly renamed?: ReadonlyMap<string, string>;
}

type UnplacedOperation = Operation extends infer One ? (One extends Operation ? Omit<One, 'place'> : never) : never;

const deepest = 12;
// If schemas share parts, each part may be reached on many paths.
const mostVisits = 2000;

/** Proposes the operations that make values of `from` valid for `to`. */
export function draftOperations(from: SubSchema, to: SubSchema, context: DraftContext): DraftedOperation[] {
  return new ValueDraft(context, { visits: 0 }, []).run(from, to);
}

/** Drafts the operations of one value: a body, or an item of an array. */
class ValueDraft {
  readonly #context: DraftContext;
  readonly #counter: { visits: number };
  /** The pairs of `$ref`s around this value: a recursive pair is not followed again. */
  #trail: readonly string[];
  readonly #drafted: DraftedOperation[] = [];
  readonly #wraps: DraftedOperation[] = [];
  #missing: Field[] = [];
  #spare: SpareField[] = [];
  /** Fields of the receiver that a value may lack. `senderSchema`: for a field that the sender has, but not always. */
  readonly #absent: (Field & { readonly senderSchema: SubSchema | undefined })[] = [];

  constructor(context: DraftContext, counter: { visits: number }, trail: readonly string[]) {
    this.#context = context;
    this.#counter = counter;
    this.#trail = trail;
  }

  run(from: SubSchema, to: SubSchema): DraftedOperation[] {
    this.#value(from, to, []);
    this.#moveFields();
    for (const field of this.#missing)
      if (this.#isNeeded(field)) this.#absent.push({ ...field, senderSchema: undefined });
    for (const field of this.#absent) this.#addField(field);
    for (const field of this.#spare) this.#dropField(field);
    return [...this.#drafted, ...this.#wraps];
  }

  #add(
    change: UnplacedOperation,
    certainty: Certainty = 'certain',
    note = '',
    inner: readonly DraftedOperation[] = [],
  ): void {
    const list = change.kind === 'wrap' ? this.#wraps : this.#drafted;
    list.push({ operation: { ...change, place: [this.#context.nextId()] }, certainty, note, inner });
  }

  #value(from: SubSchema, to: SubSchema, at: Keys): void {
    const refs = [from, to].map((schema) => (typeof schema === 'object' ? schema['$ref'] : undefined));
    const pair = refs.join(' ');
    this.#counter.visits += 1;
    if (this.#trail.includes(pair) || this.#trail.length > deepest || this.#counter.visits > mostVisits) return;
    const before = this.#trail;
    // An entry without both `$ref`s is never found again, and only counts for the depth.
    this.#trail = refs.includes(undefined) ? [...before, `${before.length}`] : [...before, pair];
    const own = alternativesOf(from, this.#context.from);
    const target = alternativesOf(to, this.#context.to);
    const isNamed = [own, target].every((list) => list.some((one) => Object.keys(propertiesOf(one)).length > 0));
    const [first, second] = [own[0], target[0]];
    if (isNamed && own.every(isObject) && target.every(isObject)) this.#object(own, target, at);
    else if (first && second && own.length === 1 && target.length === 1) this.#single(first, second, at);
    if (this.#mayBeNull(from, 'from') && !this.#mayBeNull(to, 'to')) this.#replaceNull(from, to, at);
    this.#trail = before;
  }

  /** Responses get all fields that their contract lists. Requests get only required fields, without those that are read-only. */
  #isNeeded({ schema, isRequired }: Field): boolean {
    const { direction, to } = this.#context;
    if (direction === 'response') return true;
    return isRequired && !alternativesOf(schema, to).some((one) => one['readOnly'] === true);
  }

  #mayBeNull(schema: SubSchema, side: 'from' | 'to'): boolean {
    try {
      const isAny = (branch: PlainSchema): boolean => side === 'to' && typesOf(branch) === undefined;
      return branchesOf(schema, this.#context[side]).some((branch) => allowsNull(branch) || isAny(branch));
    } catch (error) {
      if (error instanceof TooManyBranches) return false;
      throw error;
    }
  }

  #replaceNull(from: SubSchema, to: SubSchema, at: Keys): void {
    const { from: own, to: target } = this.#context;
    const written = annotationOf(to, target, 'default') ?? annotationOf(from, own, 'default');
    const isKnown = written !== undefined && typeof written !== 'object';
    const note = isKnown
      ? `null → ${JSON.stringify(written)}, the default of the contract`
      : 'the value that null becomes';
    const values = new Map([['null', isKnown ? written : unknownValue]]);
    this.#add({ kind: 'map', at, values }, isKnown ? 'guess' : 'decision', note);
  }

  #object(own: readonly PlainSchema[], target: readonly PlainSchema[], at: Keys): void {
    const [fields, wanted] = [fieldsOf(own, at), fieldsOf(target, at)];
    const isRefused = target.every((one) => one['additionalProperties'] === false);
    const names = new Map<string, string>();
    const knownRenames = at.length === 0 ? this.#context.renamed : undefined;
    for (const { from, to, certainty, note } of renamesFor(fields, wanted, this.#context, knownRenames)) {
      this.#add({ kind: 'rename', at: [...at, from], to: [...at, to] }, certainty, note);
      if (certainty !== 'decision') names.set(from, to);
    }
    for (const [name, field] of fields) {
      const counterpart = wanted.get(names.get(name) ?? name);
      if (!counterpart) {
        this.#spare.push({ ...field, isRefused, isEmptied: false });
        continue;
      }
      this.#value(field.schema, counterpart.schema, counterpart.keys);
      const hasOtherDefault = !counterpart.isRequired && this.#hasOtherDefault(field.schema, counterpart.schema);
      const isKept = field.isRequired && !this.#mayLoseValue(field.schema, counterpart.schema);
      if (!isKept && (counterpart.isRequired || hasOtherDefault))
        this.#absent.push({ ...counterpart, senderSchema: field.schema });
    }
    const found = new Set([...fields.keys()].map((name) => names.get(name) ?? name));
    this.#missing.push(...[...wanted].filter(([name]) => !found.has(name)).map(([, field]) => field));
  }

  /** Whether a value becomes the first item of an array that may be empty. */
  #mayLoseValue(from: SubSchema, to: SubSchema): boolean {
    const isArray = (one: PlainSchema): boolean => typesOf(one)?.join() === 'array';
    const mayBeEmpty = alternativesOf(from, this.#context.from).some(
      (one) => isArray(one) && !(Number(one['minItems']) > 0),
    );
    return mayBeEmpty && !alternativesOf(to, this.#context.to).some(isArray);
  }

  /** Whether a request without the field means another value to the receiver. */
  #hasOtherDefault(from: SubSchema, to: SubSchema): boolean {
    if (this.#context.direction === 'response') return false;
    const ownDefault = annotationOf(from, this.#context.from, 'default');
    return ownDefault !== undefined && !isEqual(ownDefault, annotationOf(to, this.#context.to, 'default'));
  }

  /** Drafts the operations of a value that is not an object with named fields. */
  #single(own: PlainSchema, target: PlainSchema, at: Keys): void {
    const [isArray, wantsArray] = [own, target].map((one) => typesOf(one)?.join() === 'array');
    const [items, wantedItems] = [own, target].map((one) => one['items'] as SubSchema | undefined);
    if (isArray && wantsArray) {
      if (items !== undefined && wantedItems !== undefined) this.#each(items, wantedItems, at);
    } else if (isArray && typesOf(target) !== undefined) {
      const isOnly = own['maxItems'] === 1;
      const certainty = isOnly ? 'certain' : this.#context.direction === 'response' ? 'guess' : 'decision';
      this.#add({ kind: 'head', at }, certainty, isOnly ? '' : 'only the first item is used');
      if (items !== undefined) this.#value(items, target, at);
    } else if (wantsArray && typesOf(own) !== undefined) {
      if (wantedItems !== undefined) this.#value(own, wantedItems, at);
      this.#add({ kind: 'wrap', at });
    } else if (isObject(own) && isObject(target)) {
      const [values, wanted] = [own, target].map((one) => one['additionalProperties']);
      if (typeof values === 'object' && typeof wanted === 'object')
        this.#each(values as SubSchema, wanted as SubSchema, at);
    } else this.#scalar(own, target, at);
  }

  #each(items: SubSchema, wanted: SubSchema, at: Keys): void {
    const inner = new ValueDraft(this.#context, this.#counter, this.#trail).run(items, wanted);
    if (inner.length > 0) this.#add({ kind: 'each', at, operations: [] }, 'certain', '', inner);
  }

  #scalar(own: PlainSchema, target: PlainSchema, at: Keys): void {
    const [values, wanted] = [valuesOf(own), valuesOf(target)];
    if (values?.length === 1 && wanted?.length === 1 && at.length > 0) {
      if (!isEqual(values[0], wanted[0])) this.#add({ kind: 'const', at, value: wanted[0] as JsonValue });
      return;
    }
    const mapping = mappingFor(own, target);
    if (mapping) this.#add({ kind: 'map', at, values: mapping.values }, mapping.certainty, mapping.note);
    const conversion = mapping || wanted ? undefined : conversionFor(own, target);
    if (!conversion) return;
    const { to, digits, certainty, note } = conversion;
    this.#add({ kind: 'convert', at, to, digits }, certainty, note);
  }

  #moveFields(): void {
    const { moves, missing, spare } = movedFields(this.#spare, this.#missing, this.#context);
    this.#missing = missing;
    this.#spare = spare;
    for (const { source, target, certainty, note } of moves) {
      this.#add({ kind: 'move', at: source.keys, to: target.keys }, certainty, note);
      this.#value(source.schema, target.schema, target.keys);
      if (target.isRequired && !source.isRequired) this.#absent.push({ ...target, senderSchema: source.schema });
    }
  }

  /** Drafts an operation that adds a field which the receiver lists, and which a value may lack. */
  #addField({ keys: at, schema, senderSchema }: Field & { readonly senderSchema: SubSchema | undefined }): void {
    const { from, to, receiver, direction } = this.#context;
    const branches = alternativesOf(schema, to);
    const values = branches.flatMap((branch) => valuesOf(branch) ?? []);
    const single = branches.length === 1 && values.length === 1 ? values[0] : undefined;
    const receiverDefault = single ?? annotationOf(schema, to, 'default');
    const senderDefault = senderSchema === undefined ? undefined : annotationOf(senderSchema, from, 'default');
    const example = annotationOf(schema, to, 'example');
    const mayBeEmptyList = (one: PlainSchema): boolean =>
      typesOf(one)?.join() === 'array' && !(Number(one['minItems']) > 0);
    const acceptsEmptyList = branches.length > 0 && branches.every(mayBeEmptyList);
    const add = (value: JsonValue, note: string, certainty: Certainty = 'guess'): void =>
      this.#add({ kind: 'default', at, value }, certainty, note);
    if (senderDefault !== undefined && direction === 'request') add(senderDefault, '', 'certain');
    else if (senderSchema === undefined && single !== undefined)
      this.#add({ kind: 'const', at, value: single as JsonValue });
    else if (receiverDefault !== undefined) add(receiverDefault as JsonValue, '', 'certain');
    else if (senderDefault !== undefined) add(senderDefault, 'the default of the other contract');
    else if (this.#mayBeNull(schema, 'to')) add(null, `${receiver} allows null`);
    else if (acceptsEmptyList && senderSchema !== undefined && direction === 'response')
      add([], 'an absent list has no items');
    else if (example !== undefined) add(example, `the example of ${receiver}`, 'decision');
    else {
      const others = this.#spare.filter((one) => likenessOf(one.schema, schema, this.#context) === 'same');
      const names = others.map(({ keys }) => keys.join('/')).join(' or ');
      const choice =
        values.length > 1 ? `${unknownValue} is one of ${valuesInWords(values)}` : `the value that ${receiver} gets`;
      add(unknownValue, names === '' ? choice : `${choice}, or rename ${names}`, 'decision');
    }
  }

  #dropField({ keys: at, isRefused, isEmptied }: SpareField): void {
    const { direction, receiver } = this.#context;
    const isLost = direction === 'request';
    if (isEmptied) this.#add({ kind: 'drop', at }, 'guess', 'all its fields are moved');
    else if (isRefused && !isLost) this.#add({ kind: 'drop', at });
    else if (isLost) this.#add({ kind: 'drop', at }, 'decision', `${receiver} has no such field, so its value is lost`);
    else this.#add({ kind: 'drop', at }, 'decision', `${receiver} does not list it, and its clients ignore it`);
  }
}
