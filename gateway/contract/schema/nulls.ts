import { isMap, type JsonMap } from '../../shared/json.ts';
import { below, isList, itemsOf, type Located } from '../document/located.ts';
import type { SchemaLookup } from './schema.ts';

/** What a schema says about null. `silent`: null is valid only because nothing excludes it. */
type NullAnswer = 'yes' | 'no' | 'silent';

/** What the schemas of one contract say about null, as a validator reads them. */
export class NullReader {
  readonly #lookup: SchemaLookup;
  readonly #readsAlternatives: boolean;
  /** Results so far. They end the recursion, and avoid exponential time. */
  readonly #known = new Map<unknown, NullAnswer>();

  /** Without `readsAlternatives`: those of a choice are compared one by one, and count only if they are null itself. */
  constructor(lookup: SchemaLookup, { readsAlternatives }: { readonly readsAlternatives: boolean }) {
    this.#lookup = lookup;
    this.#readsAlternatives = readsAlternatives;
  }

  /** What the schemas say together. */
  ofAll(located: readonly Located[]): NullAnswer {
    return together(located.map((one) => this.#of(one)));
  }

  #of(located: Located): NullAnswer {
    const { value } = located;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    if (isMap(value)) this.#known.set(value, 'silent');
    try {
      const answer = together(this.#lookup.applied(located).map((one) => this.#ofObject(one)));
      if (isMap(value)) this.#known.set(value, answer);
      return answer;
    } catch (error) {
      this.#known.delete(value);
      throw error;
    }
  }

  #ofChoice(alternatives: readonly Located[]): NullAnswer {
    if (this.#readsAlternatives) {
      const answers = alternatives.map((one) => this.#of(one));
      return (['yes', 'silent'] as const).find((one) => answers.includes(one)) ?? 'no';
    }
    const possible = alternatives.filter((one) => !this.#lookup.rejectsAll(one));
    if (possible.some((one) => this.#isNull(one))) return 'yes';
    const [only, ...others] = possible;
    return only && others.length === 0 ? this.#of(only) : 'silent';
  }

  /** A choice directly within another choice adds its alternatives to the outer choice. */
  #isNull(one: Located): boolean {
    if (this.#lookup.isNull(one)) return true;
    if (!isMap(one.value) || one.value['$ref'] !== undefined) return false;
    return listedIn(one.value, one.place).some((list) => list.some((inner) => this.#isNull(inner)));
  }

  #ofObject({ value, place }: Located): NullAnswer {
    if (!isMap(value)) return value === false ? 'no' : 'silent';
    // In every release, and whatever the other keywords say: docs/decisions/0037-one-meaning-of-a-schema.md.
    if (value['nullable'] === true) return 'yes';
    const at = (keyword: string): Located => below({ value, place }, keyword);
    const answers = [ownAnswerOf(value), this.ofAll(itemsOf(at('allOf')))];
    for (const list of listedIn(value, place)) answers.push(this.#ofChoice(list));
    if (value['not'] !== undefined && this.#of(at('not')) !== 'no') answers.push('no');
    if (value['if'] !== undefined) answers.push(this.#of(at(this.#of(at('if')) === 'no' ? 'else' : 'then')));
    return together(answers);
  }
}

function ownAnswerOf(map: JsonMap): NullAnswer {
  const { type, enum: values, const: constant } = map as { type?: unknown; enum?: unknown; const?: unknown };
  const answers: NullAnswer[] = [];
  if (type !== undefined && type !== null) answers.push([type].flat().includes('null') ? 'yes' : 'no');
  if (isList(values)) answers.push(values.includes(null) ? 'yes' : 'no');
  if (constant !== undefined) answers.push(constant === null ? 'yes' : 'no');
  return together(answers);
}

/** The alternatives of `oneOf` and of `anyOf`. */
function listedIn(map: JsonMap, place: Located['place']): Located[][] {
  return ['oneOf', 'anyOf']
    .filter((keyword) => isList(map[keyword]))
    .map((keyword) => itemsOf(below({ value: map, place }, keyword)));
}

function together(answers: readonly NullAnswer[]): NullAnswer {
  return answers.includes('no') ? 'no' : answers.includes('yes') ? 'yes' : 'silent';
}
