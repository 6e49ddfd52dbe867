import type { Identifier } from '../snapshot.ts';
import { scalar, WrongValue } from './scalar.ts';

export function oneOf<const Word extends string>(words: readonly Word[]) {
  const expected = words.length === 1 ? `${words[0]}` : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return scalar({
    accepts: ['string'],
    expected,
    json: { enum: words },
    parse: (input) => words.find((word) => word === input) ?? new WrongValue('is not one of the allowed words'),
  });
}

export const flag = scalar({
  accepts: ['boolean'],
  expected: 'true or false',
  json: { type: 'boolean' },
  parse: (input) => input,
});

/** A whole number within bounds, both included. */
export function integer(minimum: number, maximum: number) {
  return scalar({
    accepts: ['number'],
    expected: `a whole number from ${minimum} to ${maximum}`,
    json: { type: 'integer', minimum, maximum },
    parse: (input) => {
      if (!Number.isInteger(input)) return new WrongValue('is not a whole number');
      if (input < minimum) return new WrongValue(`is less than ${minimum}`);
      return input > maximum ? new WrongValue(`is more than ${maximum}`) : input;
    },
  });
}

export const workers = scalar({
  accepts: ['number', 'string'],
  expected: 'a number of processes from 1 to 1024, or auto',
  json: { anyOf: [{ type: 'integer', minimum: 1, maximum: 1024 }, { const: 'auto' }] },
  parse: (input): number | 'auto' | WrongValue => {
    if (input === 'auto') return 'auto';
    const fits = typeof input === 'number' && Number.isInteger(input) && input >= 1 && input <= 1024;
    return fits ? input : new WrongValue('is not a number of processes');
  },
});

/** A text that is not blank. `expected` describes it. */
export function text(expected: string) {
  return scalar({
    accepts: ['string'],
    expected,
    json: { type: 'string', minLength: 1 },
    parse: (input) => (input.trim() === '' ? new WrongValue('is empty') : input),
  });
}

const versionOfApi = /^(?:\/[A-Za-z0-9._~-]+)+\/v(?:0|[1-9]\d*)$/;
const versionPath = /^\/v(?:0|[1-9]\d*)$/;

export const versionName = scalar({
  accepts: ['string'],
  expected: 'a version of this file, such as /v2',
  json: { type: 'string', pattern: '^/v(0|[1-9][0-9]*)$' },
  parse: (input) => {
    if (versionOfApi.test(input))
      return new WrongValue('is a version of another API', 'Write a version of the same API, such as /v2.');
    return versionPath.test(input) ? input : new WrongValue('is not a version');
  },
});

/** Like `versionName`, or a version of another API: `/orders/v2`. */
export const successorName = scalar({
  accepts: ['string'],
  expected: 'a version of this file, such as /v2',
  json: { type: 'string', pattern: '^(/[A-Za-z0-9._~-]+)*/v(0|[1-9][0-9]*)$' },
  parse: (input) => (versionPath.test(input) || versionOfApi.test(input) ? input : new WrongValue('is not a version')),
});

export const filePath = scalar({
  accepts: ['string'],
  expected: 'the path of a file',
  json: { type: 'string', minLength: 1 },
  parse: (input) => {
    if (input.trim() === '') return new WrongValue('is empty');
    return input.includes('\0') ? new WrongValue('has a null character') : input;
  },
});

/** Only visible ASCII: clients send the token in an Authorization header. */
export const token = scalar({
  accepts: ['string'],
  expected: 'a token of visible ASCII characters, without blanks',
  json: { type: 'string', pattern: '^[!-~]+$' },
  parse: (input) => {
    if (input === '') return new WrongValue('is empty');
    return /^[!-~]+$/.test(input) ? input : new WrongValue('has a blank or a character outside ASCII');
  },
});

const shortestKeyLength = 16;

/** A secret that tags are hashed with. A shorter secret could be guessed from known tags. */
export const tagKey = scalar({
  accepts: ['string'],
  expected: `a key of at least ${shortestKeyLength} characters`,
  json: { type: 'string', minLength: shortestKeyLength },
  parse: (input) =>
    input.length < shortestKeyLength ? new WrongValue(`has fewer than ${shortestKeyLength} characters`) : input,
});

export const identifier = scalar({
  accepts: ['string'],
  expected: 'header:NAME, jwt:CLAIM, user-agent or address',
  json: {
    type: 'string',
    pattern: "^(header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|jwt:\\S+|user-agent|address)$",
    examples: ['header:x-client-id', 'jwt:sub', 'user-agent', 'address'],
  },
  parse: (input): Identifier | WrongValue => {
    if (input === 'user-agent' || input === 'address') return { by: input };
    const header = /^header:([!#$%&'*+.^_`|~0-9A-Za-z-]+)$/.exec(input)?.[1];
    if (header !== undefined) return { by: 'header', name: header.toLowerCase() };
    const claim = /^jwt:(\S+)$/.exec(input)?.[1];
    return claim === undefined ? new WrongValue('is not an identifier of clients') : { by: 'jwt', claim };
  },
});
