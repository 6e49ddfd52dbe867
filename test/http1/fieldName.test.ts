import { expect, it } from 'vitest';
import { isKnown, lowerCased } from '../../gateway/http1/fieldName.ts';
import { token } from '../../gateway/http1/grammar.ts';

it.each([
  'Content-Type',
  'content-type',
  'ETag',
  'etag',
  'Etag',
  'TE',
  'WWW-Authenticate',
  'X-Request-ID',
  'X-Forwarded-For',
  'Sec-WebSocket-Key',
  'DNT',
])('%s is known in this spelling', (name) => {
  expect(isKnown(name)).toBe(true);
  expect(token.test(name)).toBe(true);
});

it.each([
  ['one that nobody has heard of', 'X-Unheard-Of'],
  ['an odd spelling', 'cONTENT-tYPE'],
  ['a space behind it', 'Host '],
  ['a space in front of it', ' Host'],
  ['no name', ''],
  ['a name that every object has', 'constructor'],
  ['another one', '__proto__'],
])('is not known: %s', (_name, name) => expect(isKnown(name)).toBe(false));

it.each([
  'Content-Length',
  'CONTENT-LENGTH',
  'cOnTeNt-LeNgTh',
  'ETag',
  'TE',
  'Sec-WebSocket-Key',
  'X-Unheard-Of',
  'x_under_score',
  '__proto__',
  "!#$%&'*+-.^_`|~09aZ",
  '',
])('%s is lower-cased, known or not', (name) => expect(lowerCased(name)).toBe(name.toLowerCase()));
