import type { Direction, Step } from '../change.ts';
import type { Route } from '../diff/routes.ts';
import type { Documents } from '../document/documents.ts';
import { below, entriesOf, isMap, type Located } from '../document/located.ts';
import { Schemas } from '../schema/schemas.ts';
import { type Made, madeFrom } from './made.ts';

/** An example of the contract, and what its schema alone would give. */
export interface Body {
  readonly example: unknown;
  readonly made: Made | undefined;
}

/** One of the two contracts, and the examples in it. */
export class Side {
  readonly documents: Documents;
  readonly #schemas: Schemas;

  constructor(documents: Documents) {
    this.documents = documents;
    this.#schemas = new Schemas(documents);
  }

  /** Of the body that the first of the steps name, a header field or a parameter; undefined: there is none. */
  body(route: Route, parts: readonly string[]): Body | undefined {
    const [part = '', ...others] = parts;
    const direction = part === 'request body' ? 'request' : 'response';
    const holder = part === 'request body' ? this.#below(route.operation, 'requestBody') : this.#response(route, part);
    if (holder === undefined) return undefined;
    const [next = ''] = others;
    if (next.startsWith('header ')) return this.#header(holder, next.slice('header `'.length, -1), direction);
    const media = this.#media(holder, next);
    // A part that is no media type is one of several alternatives, of which an example shows but one.
    return media && (others.length === 0 || isMediaType(next)) ? this.#bodyOf(media, direction) : undefined;
  }

  /** What a schema gives where it stands by itself. */
  made(located: Located, direction: Direction): Made | undefined {
    return located.value === undefined ? undefined : madeFrom(this.#schemas.of(located), direction);
  }

  /** The value to show for a parameter. */
  parameter(parameter: Located): unknown {
    return this.#exampleIn(parameter) ?? this.made(below(parameter, 'schema'), 'request')?.value;
  }

  #bodyOf(media: Located, direction: Direction): Body {
    return { example: this.#exampleIn(media), made: this.made(below(media, 'schema'), direction) };
  }

  #header(holder: Located, name: string, direction: Direction): Body | undefined {
    const headers = entriesOf(below(holder, 'headers'));
    const found = headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
    return found && this.#bodyOf(this.documents.resolve(found), direction);
  }

  #response({ operation }: Route, part: string): Located | undefined {
    if (!part.startsWith('response ')) return undefined;
    const status = part.slice('response '.length);
    const responses = below(operation, 'responses');
    const names = [status, status.toLowerCase(), `${status.slice(0, 1)}XX`, 'default'];
    const found = names.map((name) => below(responses, name)).find(({ value }) => isMap(value));
    return found && this.documents.resolve(found);
  }

  #media(holder: Located, wanted: string): Located | undefined {
    const types = entriesOf(below(holder, 'content'));
    const named = types.find(([type]) => type.toLowerCase().replace(/\s/g, '') === wanted);
    return (named ?? types.find(([type]) => /[/+]json/i.test(type)))?.[1];
  }

  #below(located: Located, key: string): Located | undefined {
    const inner = below(located, key);
    return isMap(inner.value) ? this.documents.resolve(inner) : undefined;
  }

  #exampleIn(holder: Located): unknown {
    const own = below(holder, 'example').value;
    if (own !== undefined) return own;
    const [first] = entriesOf(below(holder, 'examples'));
    if (first === undefined) return undefined;
    const { value } = this.documents.resolve(first[1]);
    return isMap(value) ? value['value'] : undefined;
  }
}

export function isMediaType(text: string): boolean {
  return /^[\w!#$&^.+-]+\/[\w!#$&^.+*-]+(;|$)/.test(text);
}

/** The steps up to the first field are parts; what follows them is where the change is in the value. */
export function split(steps: readonly Step[]): { readonly parts: string[]; readonly path: string[] } {
  const at = steps.findIndex(({ kind }) => kind !== 'part');
  const parts = (at === -1 ? steps : steps.slice(0, at)).map(({ text }) => text);
  const rest = at === -1 ? [] : steps.slice(at);
  // What lies beyond a choice has no place of its own in an example: all of the choice is shown.
  const end = rest.findIndex(({ kind }) => kind === 'part');
  return { parts, path: (end === -1 ? rest : rest.slice(0, end)).map(({ text }) => text) };
}
