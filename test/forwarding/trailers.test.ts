import { expect, it } from 'vitest';
import { forwardableTrailers } from '../../gateway/forwarding/responseFields.ts';

it.each([
  ['none', [], []],
  ['one', ['X', '1'], [['X', '1']]],
  [
    'order, spelling and duplicates',
    ['b', '1', 'A', '2', 'b', '3'],
    [
      ['b', '1'],
      ['A', '2'],
      ['b', '3'],
    ],
  ],
  [
    'a status after the body',
    ['grpc-status', '0', 'grpc-message', ''],
    [
      ['grpc-status', '0'],
      ['grpc-message', ''],
    ],
  ],
  ['a digest', ['Content-Digest', 'sha-256=:a:'], [['Content-Digest', 'sha-256=:a:']]],
  ['a timing', ['Server-Timing', 'db;dur=1'], [['Server-Timing', 'db;dur=1']]],
])('trailers are passed on: %s', (_name, trailers, expected) =>
  expect(forwardableTrailers(trailers)).toEqual(expected),
);

// RFC 9110 §6.5.1.
it.each([
  ...[
    'Transfer-Encoding',
    'Content-Length',
    'Trailer',
    'Connection',
    'Upgrade',
    'TE',
    'Keep-Alive',
    'Proxy-Connection',
  ],
  ...['Host', 'Cache-Control', 'Expires', 'Age', 'Date', 'Vary', 'Location', 'Retry-After', 'Via', 'Warning'],
  ...['Authorization', 'Proxy-Authorization', 'WWW-Authenticate', 'Proxy-Authenticate', 'Set-Cookie'],
  ...['Content-Encoding', 'Content-Type', 'Content-Range'],
])('a trailer is dropped: %s', (name) => {
  for (const spelling of [name, name.toLowerCase(), name.toUpperCase()]) {
    expect(forwardableTrailers(['A', '1', spelling, 'x', 'B', '2'])).toEqual([
      ['A', '1'],
      ['B', '2'],
    ]);
  }
});
