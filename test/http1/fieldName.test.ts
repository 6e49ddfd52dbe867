import { expect, it } from 'vitest';
import { checkedLowerCased, lowerCased } from '../../gateway/http1/fieldName.ts';
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
  'X-Unheard-Of',
  'cONTENT-tYPE',
  'constructor',
  '__proto__',
  "!#$%&'*+-.^_`|~09aZ",
])('%s is a field name, and lower-cased', (name) => {
  expect(token.test(name)).toBe(true);
  expect(checkedLowerCased(name)).toBe(name.toLowerCase());
});

it.each([
  ['a space behind it', 'Host '],
  ['a space in front of it', ' Host'],
  ['no name', ''],
  ['a line break behind it', 'Host\n'],
  ['a colon', 'Host:'],
  ['a byte above ASCII', 'X-\xe9'],
  // It is a K once it is lower-cased.
  ['a Kelvin sign', '\u212aeep-Alive'],
])('is no field name: %s', (_name, name) => expect(checkedLowerCased(name)).toBeUndefined());

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
