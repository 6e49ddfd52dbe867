import { expect, it } from 'vitest';
import { addressesOf, targetAddress } from '../../gateway/shared/targetAddress.ts';

it.each([
  ['http://v1.internal:3001/api', 'v1.internal:3001'],
  ['http://V1.Internal.', 'v1.internal:80'],
  ['https://v1.internal', 'v1.internal:443'],
  ['https://v1.internal:80', 'v1.internal:80'],
  ['http://localhost:3001', '127.0.0.1:3001'],
  ['http://[::1]:3001', '127.0.0.1:3001'],
  ['http://[::ffff:127.0.0.1]:3001', '127.0.0.1:3001'],
  ['http://127.0.0.1:3001', '127.0.0.1:3001'],
  // Another process may listen there.
  ['http://127.0.0.2:3001', '127.0.0.2:3001'],
  ['http://[2001:db8::1]:3001', '[2001:db8::1]:3001'],
])('the address of %s is %s', (url, address) => {
  expect(targetAddress(url)).toBe(address);
});

it('two names of one backend are one address', () => {
  expect(addressesOf([{ url: 'http://localhost' }, { url: 'http://[::1]:80/x' }, { url: 'http://b' }])).toEqual([
    '127.0.0.1:80',
    'b:80',
  ]);
});
