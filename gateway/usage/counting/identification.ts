import { hash } from 'node:crypto';
import type { Identifier } from '../../config/snapshot.ts';
import { lowerCased } from '../../http1/grammar.ts';
import { networkOf } from '../../shared/network.ts';
import { TwoGenerationCache } from './twoGenerationCache.ts';

/** The name of a client whose requests carry no identification. */
export const unknownClient = 'unknown';

/** The name of a client, and the identification that derived it. */
export interface IdentifiedClient {
  readonly client: string;
  readonly identification: ClientIdentification;
}

/** Reads one configured identifier from a request. */
interface IdentifierReader {
  /** In lower case; undefined: the client's address. */
  readonly header: string | undefined;
  /** Returns '' if no client can be identified by the value. */
  readonly read: (value: string) => string;
  /** Whether the value proves who the client is. */
  readonly isSecret: boolean;
  readonly cache: TwoGenerationCache;
}

/** Derives a client's name from a request. Names are safe to store and print: secrets are hashed, addresses truncated. */
export class ClientIdentification {
  readonly salt: string;
  /** The names of the header fields that it reads, in lower case. */
  readonly fields: readonly string[];
  /** For a request that is counted as `unknown`, even if it identifies a client. */
  readonly asUnknown: IdentifiedClient = { client: unknownClient, identification: this };
  readonly #readers: readonly IdentifierReader[];

  constructor(identify: readonly Identifier[], salt: string) {
    this.salt = salt;
    this.#readers = identify.map((identifier) => ({
      ...readerFor(identifier, salt),
      cache: new TwoGenerationCache(),
    }));
    this.fields = [...new Set(this.#readers.flatMap(({ header }) => header ?? []))];
  }

  /** `rawHeaders`: names and values alternate, as received. `address`: of the client, '' if it is not known. */
  clientOf(rawHeaders: readonly string[], address: string): string {
    for (const reader of this.#readers) {
      const value = reader.header === undefined ? address : fieldOf(rawHeaders, reader.header);
      if (value === '') continue;
      let client = reader.cache.get(value);
      if (client === undefined) {
        client = reader.read(value);
        reader.cache.set(value, client);
      }
      if (client !== '') return client;
    }
    return unknownClient;
  }

  /**
   * The client's name, if the request is identified by a secret such as an API key. Undefined if it is identified by a value that
   * anyone can send: an id, a user agent, an address, a header that is not known to carry a secret, or a claim of a JWT, because
   * its signature is not verified.
   * Does not use the cache, so that a flood of forged keys cannot remove the names of other clients from it.
   */
  clientBySecret(rawHeaders: readonly string[]): string | undefined {
    if (this.repeatsIdentifierField(rawHeaders)) return undefined;
    for (const { header, read, isSecret } of this.#readers) {
      if (header === undefined) return undefined;
      const value = fieldOf(rawHeaders, header);
      const client = value === '' ? '' : read(value);
      if (client !== '') return isSecret ? client : undefined;
    }
    return undefined;
  }

  /** Whether one of `fields` occurs more than once. Then the backend may have checked a value that is not the one read here. */
  repeatsIdentifierField(rawHeaders: readonly string[]): boolean {
    return this.fields.some((field) => {
      const isField = (name: string, at: number): boolean =>
        at % 2 === 0 && name.length === field.length && lowerCased(name) === field;
      return rawHeaders.findIndex(isField) !== rawHeaders.findLastIndex(isField);
    });
  }
}

/** The salt of tags with `usage.tag_key`. The key itself is not stored with the tags. */
export function saltFrom(tagKey: string): string {
  return hash('sha256', `version-gateway tag key: ${tagKey}`);
}

/**
 * A hash of what determines the names of clients. If two processes or two runs have the same hash, both give a client the same
 * name. It does not reveal the salt.
 */
export function namingRulesIdOf(identify: readonly Identifier[], salt: string): string {
  return hash('sha256', JSON.stringify([salt, identify]));
}

function readerFor(identifier: Identifier, salt: string): Omit<IdentifierReader, 'cache'> {
  switch (identifier.by) {
    case 'header': {
      const { name } = identifier;
      const toWord = isPlainHeader(name) ? plainWord : tagOfValue;
      const read = (value: string): string => withKind(name, toWord(salt, value));
      return { header: name, read, isSecret: proofName.test(name) };
    }
    case 'jwt': {
      const kind = `jwt-${plainWord(salt, identifier.claim)}`;
      const read = (value: string): string => withKind(kind, tagOfValue(salt, jwtClaim(value, identifier.claim)));
      return { header: 'authorization', read, isSecret: false };
    }
    case 'user-agent':
      return { header: 'user-agent', read: (value) => withKind('user-agent', productOf(salt, value)), isSecret: false };
    case 'address':
      return { header: undefined, read: (value) => withKind('address', networkOf(value)), isSecret: false };
  }
}

function tagOfValue(salt: string, value: string): string {
  const trimmed = value.trim();
  return trimmed === '' ? '' : tag(salt, trimmed);
}

/** The name of a client: `user-agent:curl`; '' if `word` is ''. */
function withKind(kind: string, word: string): string {
  return word === '' ? '' : `${kind}:${word}`;
}

/** The first value that is not empty. Comparing lengths first skips nearly all names without lower-casing them. */
function fieldOf(rawHeaders: readonly string[], header: string): string {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length !== header.length || lowerCased(name) !== header) continue;
    const value = rawHeaders[at + 1] as string;
    if (value !== '') return value;
  }
  return '';
}

// The values of these headers prove who the client is, so GET /versions/me accepts them. A header that a proxy adds proves nothing.
const proofName = /^(?:authorization|cookie)$|(?:-key|-token|-secret|apikey)$/;
// The values of these headers are hashed. To hash a value that is not secret does no harm.
const secretName = /key|token|auth|secret|cookie|session|credential|password|signature|jwt/;
const plainName =
  /(?:^|-)(?:id|client|agent|app|application|name|service|consumer|caller|product|partner|tenant|team|from|origin|by|with)(?:-|$)/;
// Some clients send a secret in a field that is meant for an id.
const secretValue = /^(?:bearer|basic|digest|negotiate)\s|^eyJ[\w-]*\.[\w-]+\.|^(?:sk|pk|rk|gh[opsu]|xox[abps])[-_]/i;

/** Whether the values of a header may be stored as they are. An unfamiliar name counts as a secret. */
function isPlainHeader(header: string): boolean {
  return !secretName.test(header) && plainName.test(header);
}

// Hexadecimal digits: 64 bits. Among a million secrets, two with the same tag are very unlikely.
const tagLength = 16;

/** `#4f2a91c07be05d3a`: identifies a secret without revealing it. */
export function tag(salt: string, value: string): string {
  return `#${hash('sha256', salt + value).slice(0, tagLength)}`;
}

const maxWordLength = 64;

/**
 * A value that a client sent, restricted to characters that are safe in terminals, browsers and spreadsheets; '' if it is
 * blank. A value that had to be changed or cut ends in `~` and a tag, so that two different values stay different.
 */
function plainWord(salt: string, word: string): string {
  const trimmed = word.trim();
  if (trimmed === '') return '';
  if (secretValue.test(trimmed)) return tag(salt, trimmed);
  const clean = cleaned(trimmed);
  if (clean === trimmed) return clean;
  return `${clean.slice(0, maxWordLength - tagLength - 1)}~${tag(salt, trimmed).slice(1)}`;
}

/** The first product of a User-Agent (RFC 9110 §10.1.5) without its version; '' if there is none. */
function productOf(salt: string, userAgent: string): string {
  const product = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)/.exec(userAgent)?.[1] ?? '';
  return secretValue.test(product) || cleaned(product) === '' ? '' : plainWord(salt, product);
}

/** At most 64 characters, the first a letter or digit, because `=`, `+`, `-` and `@` begin a spreadsheet formula. */
function cleaned(word: string): string {
  return word
    .slice(0, 4 * maxWordLength)
    .replace(/^[^0-9A-Za-z]+/, '')
    .replace(/[^0-9A-Za-z ._:/@+-]/g, '_')
    .slice(0, maxWordLength)
    .trimEnd();
}

const maxTokenLength = 16_384;

/**
 * A claim of a bearer JWT (RFC 7519 §4) as text; '' if there is none. The signature is not verified: usage counts are not
 * access control, and a forged token only changes the name under which its sender is counted.
 */
function jwtClaim(authorization: string, claim: string): string {
  if (authorization.length > maxTokenLength) return '';
  const payload = /^bearer +[\w-]+\.([\w-]+)\.[\w-]*\s*$/i.exec(authorization)?.[1];
  if (payload === undefined) return '';
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    if (typeof claims !== 'object' || claims === null || !Object.hasOwn(claims, claim)) return '';
    const value: unknown = (claims as Record<string, unknown>)[claim];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  } catch {
    return '';
  }
}
