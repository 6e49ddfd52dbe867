import type { Identifier } from '../config/operating.ts';
import { lowerCased } from '../http1/fieldName.ts';
import { networkOf } from '../shared/network.ts';
import { isPlain, plainWord, productOf, tag } from './clientWords.ts';
import { Generations } from './generations.ts';
import { claimOf } from './jwtClaim.ts';

/** The client of a request that says nothing about itself. */
export const unknownClient = 'unknown';

/** One place to look, and what is already known about the values that stand there. */
interface Way {
  /** In lower case; undefined: the address. */
  readonly header: string | undefined;
  /** '' where the value tells nothing. */
  readonly read: (value: string) => string;
  readonly known: Generations;
}

/** Who a request comes from, in words that may be stored and shown. */
export class Identification {
  readonly #ways: readonly Way[];

  constructor(identify: readonly Identifier[], salt: string) {
    this.#ways = identify.map((identifier) => ({ ...wayOf(identifier, salt), known: new Generations() }));
  }

  /** `rawHeaders`: names and values in turn, as received. `address`: of the client, as far as it is known. */
  clientOf(rawHeaders: readonly string[], address: string): string {
    for (const way of this.#ways) {
      const value = way.header === undefined ? address : fieldOf(rawHeaders, way.header);
      if (value === '') continue;
      let client = way.known.get(value);
      if (client === undefined) {
        client = way.read(value);
        way.known.set(value, client);
      }
      if (client !== '') return client;
    }
    return unknownClient;
  }
}

function wayOf(identifier: Identifier, salt: string): Omit<Way, 'known'> {
  switch (identifier.by) {
    case 'header': {
      const { name } = identifier;
      const word = isPlain(name) ? plainWord : tagOfWord;
      return { header: name, read: (value) => kindAnd(name, word(salt, value)) };
    }
    case 'jwt': {
      const kind = `jwt-${plainWord(salt, identifier.claim)}`;
      const read = (value: string): string => kindAnd(kind, tagOfWord(salt, claimOf(value, identifier.claim)));
      return { header: 'authorization', read };
    }
    case 'user-agent':
      return { header: 'user-agent', read: (value) => kindAnd('user-agent', productOf(salt, value)) };
    case 'address':
      return { header: undefined, read: (value) => kindAnd('address', networkOf(value)) };
  }
}

function tagOfWord(salt: string, word: string): string {
  const trimmed = word.trim();
  return trimmed === '' ? '' : tag(salt, trimmed);
}

function kindAnd(kind: string, word: string): string {
  return word === '' ? '' : `${kind}:${word}`;
}

/** The first value that is not empty. Lengths are compared first: they tell nearly all names apart at no cost. */
function fieldOf(raw: readonly string[], header: string): string {
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    if (name.length !== header.length || lowerCased(name) !== header) continue;
    const value = raw[at + 1] as string;
    if (value !== '') return value;
  }
  return '';
}
