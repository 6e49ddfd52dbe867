import type { JsonValue, Keys, Operation } from '../../../config/adapterSettings.ts';
import { TooManyAlternatives } from '../../../contract/schema/alternatives.ts';
import type { PlainSchema, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { isEqual } from '../../../contract/schema/keywords.ts';
import { allowsNull, branchesOf, listedValuesOf, propertiesOf, typesOf } from '../proof/branches.ts';
import { type Field, fieldsOf, movedFields, renamesFor, type SpareField } from './draftFields.ts';
import {
  annotationOf,
  type Certainty,
  conversionFor,
  draftAlternatives,
  isObject,
  likenessOf,
  mappingFor,
  type NamedSchemasPair,
  unknownValue,
  valuesInWords,
} from './draftValues.ts';

/** An operation of a draft, with a note for its reader. */
export interface DraftedOperation {
  /** Its `place` is its id, see `operationIdOf`. An `each` has its operations in `inner`. */
  readonly operation: Operation;
  readonly certainty: Certainty;
  /** Empty if it is certain. */
  readonly note: string;
  readonly inner: readonly DraftedOperation[];
}

/** The id of an operation within its draft. */
export function operationIdOf({ place }: Operation): string {
  return String(place[0]);
}

export interface DraftContext extends NamedSchemasPair {
  readonly direction: 'request' | 'response';
  /** `/v1` */
  readonly receiver: string;
  readonly nextId: () => string;
  /** Key: the name of a path parameter in the sending contract. Value: its name in the receiving contract. */
  readonly renamed?: ReadonlyMap<string, string>;
}

/** `Omit<…, 'place'>` for each kind of operation. */
type UnplacedOperation = Operation extends infer One ? (One extends Operation ? Omit<One, 'place'> : never) : never;

// Nested fields below this level are not drafted.
const maxDepth = 12;
// If schemas share parts, each part may be reached on many paths.
const maxVisits = 2000;

/** Proposes the operations that make values of `from` valid for `to`. */
export function draftOperations(from: SubSchema, to: SubSchema, context: DraftContext): DraftedOperation[] {
  return new ValueDraft(context, { visits: 0 }, []).run(from, to);
}

/** Drafts the operations of one value: a body, or an item of an array. */
class ValueDraft {
  readonly #context: DraftContext;
  /** Shared by the drafts of all values of one call of `draftOperations`. */
  readonly #counter: { visits: number };
  /** The pairs of `$ref`s around this value: a recursive pair is not followed again. */
  #trail: readonly string[];
  readonly #drafted: DraftedOperation[] = [];
  /** Run after all other operations. */
  readonly #wraps: DraftedOperation[] = [];
  /** Fields of the receiver that the sender never has. */
  #missing: Field[] = [];
  /** Fields of the sender that the receiver does not have. */
  #spare: SpareField[] = [];
  /** Fields that an operation has to add if a value lacks them. `senderSchema`: undefined for a field that the sender never has. */
  readonly #toAdd: (Field & { readonly senderSchema: SubSchema | undefined })[] = [];

  constructor(context: DraftContext, counter: { visits: number }, trail: readonly string[]) {
    this.#context = context;
    this.#counter = counter;
    this.#trail = trail;
  }

  run(from: SubSchema, to: SubSchema): DraftedOperation[] {
    this.#draftValue(from, to, []);
    this.#moveFields();
    for (const field of this.#missing)
      if (this.#isNeeded(field)) this.#toAdd.push({ ...field, senderSchema: undefined });
    for (const field of this.#toAdd) this.#addField(field);
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

  #draftValue(from: SubSchema, to: SubSchema, at: Keys): void {
    const refs = [from, to].map((schema) => (typeof schema === 'object' ? schema['$ref'] : undefined));
    const pair = refs.join(' ');
    this.#counter.visits += 1;
    if (this.#trail.includes(pair) || this.#trail.length > maxDepth || this.#counter.visits > maxVisits) return;
    const outerTrail = this.#trail;
    // Without two `$ref`s there is no pair. The entry then only counts for the depth.
    this.#trail = refs.includes(undefined) ? [...outerTrail, `${outerTrail.length}`] : [...outerTrail, pair];
    const sources = draftAlternatives(from, this.#context.from);
    const targets = draftAlternatives(to, this.#context.to);
    const haveNamedFields = [sources, targets].every((list) =>
      list.some((one) => Object.keys(propertiesOf(one)).length > 0),
    );
    const [onlySource, onlyTarget] = [sources[0], targets[0]];
    if (haveNamedFields && sources.every(isObject) && targets.every(isObject)) this.#draftObject(sources, targets, at);
    else if (onlySource && onlyTarget && sources.length === 1 && targets.length === 1)
      this.#draftSingle(onlySource, onlyTarget, at);
    if (this.#mayBeNull(from, 'from') && !this.#mayBeNull(to, 'to')) this.#replaceNull(from, to, at);
    this.#trail = outerTrail;
  }

  /** Responses get all fields that their contract lists. Requests get only required fields, without those that are read-only. */
  #isNeeded({ schema, isRequired }: Field): boolean {
    const { direction, to } = this.#context;
    if (direction === 'response') return true;
    return isRequired && !draftAlternatives(schema, to).some((one) => one['readOnly'] === true);
  }

  #mayBeNull(schema: SubSchema, side: 'from' | 'to'): boolean {
    try {
      // A receiver without a type accepts null. A sender without a type is assumed not to send it.
      const acceptsAnyType = (branch: PlainSchema): boolean => side === 'to' && typesOf(branch) === undefined;
      return branchesOf(schema, this.#context[side]).some((branch) => allowsNull(branch) || acceptsAnyType(branch));
    } catch (error) {
      if (error instanceof TooManyAlternatives) return false;
      throw error;
    }
  }

  #replaceNull(from: SubSchema, to: SubSchema, at: Keys): void {
    const { from: senderSchemas, to: receiverSchemas } = this.#context;
    const knownDefault = annotationOf(to, receiverSchemas, 'default') ?? annotationOf(from, senderSchemas, 'default');
    const isDefaultUsed = knownDefault !== undefined && typeof knownDefault !== 'object';
    const note = isDefaultUsed
      ? `null → ${JSON.stringify(knownDefault)}, the default of the contract`
      : 'the value that null becomes';
    const values = new Map([['null', isDefaultUsed ? knownDefault : unknownValue]]);
    this.#add({ kind: 'map', at, values }, isDefaultUsed ? 'guess' : 'undecided', note);
  }

  #draftObject(sources: readonly PlainSchema[], targets: readonly PlainSchema[], at: Keys): void {
    const [fields, wantedFields] = [fieldsOf(sources, at), fieldsOf(targets, at)];
    const forbidsOtherFields = targets.every((one) => one['additionalProperties'] === false);
    // Key: the name of a field for the sender. Value: its name for the receiver.
    const newNames = new Map<string, string>();
    const knownRenames = at.length === 0 ? this.#context.renamed : undefined;
    for (const { from, to, certainty, note } of renamesFor(fields, wantedFields, this.#context, knownRenames)) {
      this.#add({ kind: 'rename', at: [...at, from], to: [...at, to] }, certainty, note);
      // A person decides on such a rename. Until then, one field counts as spare and the other as missing.
      if (certainty !== 'undecided') newNames.set(from, to);
    }
    for (const [name, field] of fields) {
      const counterpart = wantedFields.get(newNames.get(name) ?? name);
      if (!counterpart) {
        this.#spare.push({ ...field, isForbidden: forbidsOtherFields, isEmptied: false });
        continue;
      }
      this.#draftValue(field.schema, counterpart.schema, counterpart.keys);
      const hasOtherDefault = !counterpart.isRequired && this.#hasOtherDefault(field.schema, counterpart.schema);
      const mayBeAbsent = !field.isRequired || this.#mayLoseValue(field.schema, counterpart.schema);
      if (mayBeAbsent && (counterpart.isRequired || hasOtherDefault))
        this.#toAdd.push({ ...counterpart, senderSchema: field.schema });
    }
    const foundNames = new Set([...fields.keys()].map((name) => newNames.get(name) ?? name));
    this.#missing.push(...[...wantedFields].filter(([name]) => !foundNames.has(name)).map(([, field]) => field));
  }

  /** Whether a value becomes the first item of an array that may be empty. */
  #mayLoseValue(from: SubSchema, to: SubSchema): boolean {
    const isArray = (one: PlainSchema): boolean => typesOf(one)?.join() === 'array';
    const mayBeEmpty = draftAlternatives(from, this.#context.from).some(
      (one) => isArray(one) && !(Number(one['minItems']) > 0),
    );
    return mayBeEmpty && !draftAlternatives(to, this.#context.to).some(isArray);
  }

  /** Whether a request without the field means another value to the receiver. */
  #hasOtherDefault(from: SubSchema, to: SubSchema): boolean {
    if (this.#context.direction === 'response') return false;
    const senderDefault = annotationOf(from, this.#context.from, 'default');
    return senderDefault !== undefined && !isEqual(senderDefault, annotationOf(to, this.#context.to, 'default'));
  }

  /** Drafts the operations of a value that is not an object with named fields. */
  #draftSingle(source: PlainSchema, target: PlainSchema, at: Keys): void {
    const [isArray, wantsArray] = [source, target].map((one) => typesOf(one)?.join() === 'array');
    const [items, wantedItems] = [source, target].map((one) => one['items'] as SubSchema | undefined);
    if (isArray && wantsArray) {
      if (items !== undefined && wantedItems !== undefined) this.#draftEach(items, wantedItems, at);
    } else if (isArray && typesOf(target) !== undefined) {
      const hasOneItem = source['maxItems'] === 1;
      const certainty = hasOneItem ? 'certain' : this.#context.direction === 'response' ? 'guess' : 'undecided';
      this.#add({ kind: 'head', at }, certainty, hasOneItem ? '' : 'only the first item is used');
      if (items !== undefined) this.#draftValue(items, target, at);
    } else if (wantsArray && typesOf(source) !== undefined) {
      if (wantedItems !== undefined) this.#draftValue(source, wantedItems, at);
      this.#add({ kind: 'wrap', at });
    } else if (isObject(source) && isObject(target)) {
      const [sourceValue, targetValue] = [source, target].map((one) => one['additionalProperties']);
      if (typeof sourceValue === 'object' && typeof targetValue === 'object')
        this.#draftEach(sourceValue as SubSchema, targetValue as SubSchema, at);
    } else this.#draftScalar(source, target, at);
  }

  #draftEach(items: SubSchema, wantedItems: SubSchema, at: Keys): void {
    const itemOperations = new ValueDraft(this.#context, this.#counter, this.#trail).run(items, wantedItems);
    if (itemOperations.length > 0) this.#add({ kind: 'each', at, operations: [] }, 'certain', '', itemOperations);
  }

  #draftScalar(source: PlainSchema, target: PlainSchema, at: Keys): void {
    const [sourceValues, targetValues] = [listedValuesOf(source), listedValuesOf(target)];
    if (sourceValues?.length === 1 && targetValues?.length === 1 && at.length > 0) {
      if (!isEqual(sourceValues[0], targetValues[0]))
        this.#add({ kind: 'const', at, value: targetValues[0] as JsonValue });
      return;
    }
    const mapping = mappingFor(source, target);
    if (mapping) this.#add({ kind: 'map', at, values: mapping.values }, mapping.certainty, mapping.note);
    const conversion = mapping || targetValues ? undefined : conversionFor(source, target);
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
      this.#draftValue(source.schema, target.schema, target.keys);
      if (target.isRequired && !source.isRequired) this.#toAdd.push({ ...target, senderSchema: source.schema });
    }
  }

  /** Drafts an operation that adds a field which the receiver lists, and which a value may lack. */
  #addField({ keys: at, schema, senderSchema }: Field & { readonly senderSchema: SubSchema | undefined }): void {
    const { from, to, receiver, direction } = this.#context;
    const branches = draftAlternatives(schema, to);
    const values = branches.flatMap((branch) => listedValuesOf(branch) ?? []);
    const onlyValue = branches.length === 1 && values.length === 1 ? values[0] : undefined;
    const receiverDefault = onlyValue ?? annotationOf(schema, to, 'default');
    const senderDefault = senderSchema === undefined ? undefined : annotationOf(senderSchema, from, 'default');
    const example = annotationOf(schema, to, 'example');
    const mayBeEmptyList = (one: PlainSchema): boolean =>
      typesOf(one)?.join() === 'array' && !(Number(one['minItems']) > 0);
    const acceptsEmptyList = branches.length > 0 && branches.every(mayBeEmptyList);
    const addDefault = (value: JsonValue, note: string, certainty: Certainty = 'guess'): void =>
      this.#add({ kind: 'default', at, value }, certainty, note);
    if (senderDefault !== undefined && direction === 'request') addDefault(senderDefault, '', 'certain');
    else if (senderSchema === undefined && onlyValue !== undefined)
      this.#add({ kind: 'const', at, value: onlyValue as JsonValue });
    else if (receiverDefault !== undefined) addDefault(receiverDefault as JsonValue, '', 'certain');
    else if (senderDefault !== undefined) addDefault(senderDefault, 'the default of the other contract');
    else if (this.#mayBeNull(schema, 'to')) addDefault(null, `${receiver} allows null`);
    else if (acceptsEmptyList && senderSchema !== undefined && direction === 'response')
      addDefault([], 'an absent list has no items');
    else if (example !== undefined) addDefault(example, `the example of ${receiver}`, 'undecided');
    else {
      const similarFields = this.#spare.filter((one) => likenessOf(one.schema, schema, this.#context) === 'same');
      const similarInWords = similarFields.map(({ keys }) => keys.join('/')).join(' or ');
      const choice =
        values.length > 1 ? `${unknownValue} is one of ${valuesInWords(values)}` : `the value that ${receiver} gets`;
      addDefault(unknownValue, similarInWords === '' ? choice : `${choice}, or rename ${similarInWords}`, 'undecided');
    }
  }

  #dropField({ keys: at, isForbidden, isEmptied }: SpareField): void {
    const { direction, receiver } = this.#context;
    const isRequest = direction === 'request';
    if (isEmptied) this.#add({ kind: 'drop', at }, 'guess', 'all its fields are moved');
    else if (isForbidden && !isRequest) this.#add({ kind: 'drop', at });
    else if (isRequest)
      this.#add({ kind: 'drop', at }, 'undecided', `${receiver} has no such field, so its value is lost`);
    else
      this.#add(
        { kind: 'drop', at },
        'undecided',
        `${receiver} does not list it, and clients of ${receiver} ignore it`,
      );
  }
}
