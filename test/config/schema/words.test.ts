import { describe, expect, it } from 'vitest';
import { ExpandedText } from '../../../gateway/config/expand.ts';
import { flag, identifier, integer, text, token, workers } from '../../../gateway/config/schema/words.ts';
import { read } from './read.ts';

describe('refuses', () => {
  it.each([
    ['integer', integer(1, 10), '3', 'is a text'],
    ['integer', integer(1, 10), 11, 'is more than 10'],
    ['integer', integer(1, 10), Number.NaN, 'is not a whole number'],
    ['workers', workers, 1.5, 'is not a number of processes'],
    ['flag', flag, 'yes', 'is a text'],
    ['text', text('a name'), '  ', 'is empty'],
    ['token', token, 'a b', 'has a blank or a character outside ASCII'],
    ['token', token, 12345, 'is a number'],
    ['identifier', identifier, 'header:', 'is not an identifier of clients'],
    ['identifier', identifier, 'header:a\r\nb', 'is not an identifier of clients'],
  ])('$0: $2 $3', (_name, schema, input, predicate) => {
    expect(read(schema, input)).toBe(`refused: ${predicate}`);
  });
});

describe('reads', () => {
  it.each([
    ['workers', workers, 'auto', 'auto'],
    ['identifier', identifier, 'header:X-Client-Id', { by: 'header', name: 'x-client-id' }],
    ['identifier', identifier, 'jwt:sub', { by: 'jwt', claim: 'sub' }],
    ['identifier', identifier, 'address', { by: 'address' }],
    ['token', token, new ExpandedText('0123', 123), '0123'],
    ['integer', integer(1, 200), new ExpandedText('0123', 123), 123],
    ['flag', flag, new ExpandedText('true', true), true],
  ])('$0: $2', (_name, schema, input, value) => {
    expect(read(schema, input)).toEqual(value);
  });
});
