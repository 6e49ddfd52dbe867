import { describe, expect, it } from 'vitest';
import type { Identifier } from '../../../gateway/config/snapshot.ts';
import { ClientIdentification } from '../../../gateway/usage/counting/identification.ts';

const salt = 'a salt';

function header(name: string): Identifier {
  return { by: 'header', name };
}

function clientOf(identify: readonly Identifier[], rawHeaders: readonly string[], address = '203.0.113.9'): string {
  const identification = new ClientIdentification(identify, salt);
  const first = identification.clientOf(rawHeaders, address);
  // The second call reads the cache.
  expect(identification.clientOf([...rawHeaders], address)).toBe(first);
  return first;
}

function jwt(claims: unknown): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part(claims)}.c2lnbmF0dXJl`;
}

const byDefault = [header('x-client-id'), header('x-api-key'), { by: 'user-agent' }] as const;

describe('the client of a request', () => {
  it.each([
    ['nothing', [], 'unknown'],
    ['an empty field', ['X-Client-Id', '', 'User-Agent', 'curl/8.1'], 'user-agent:curl'],
    ['a blank field', ['X-Client-Id', ' \t ', 'User-Agent', 'curl/8.1'], 'user-agent:curl'],
    ['the first entry that the request has', ['User-Agent', 'curl/8.1', 'X-CLIENT-ID', 'shop'], 'x-client-id:shop'],
    ['the first of several fields', ['x-client-id', '', 'x-client-id', 'a', 'x-client-id', 'b'], 'x-client-id:a'],
    ['a product with a comment', ['User-Agent', 'curl/8.1 (linux; x86)'], 'user-agent:curl'],
    ['a product without a version', ['User-Agent', 'Go-http-client'], 'user-agent:Go-http-client'],
    ['no product', ['User-Agent', '(compatible; x)'], 'unknown'],
    ['a name of another length', ['X-Client-Identity', 'shop'], 'unknown'],
  ])('is identified by %s', (_name, rawHeaders, expected) => {
    expect(clientOf(byDefault, rawHeaders)).toBe(expected);
  });

  it.each([
    ['203.0.113.9', 'address:203.0.113.0/24'],
    ['::ffff:203.0.113.9', 'address:203.0.113.0/24'],
    ['2001:DB8:12:34::1', 'address:2001:db8:12::/48'],
    ['2001:db8::1', 'address:2001:db8::/48'],
    ['::1', 'address:::/48'],
    ['::2:3:4:5:6:7:8', 'address:0:2:3::/48'],
    ['64:ff9b::192.0.2.33', 'address:64:ff9b::/48'],
    ['fe80::1%eth0', 'address:fe80::/48'],
    ['unknown', 'unknown'],
    ['1.2.3', 'unknown'],
    ['"><script>', 'unknown'],
    ['', 'unknown'],
  ])('is the network of %s', (address, expected) => {
    expect(clientOf([{ by: 'address' }], [], address)).toBe(expected);
  });
});

describe('a secret', () => {
  const secret = 'sup3r-s3cret-value';

  it.each([
    'x-api-key',
    'authorization',
    'cookie',
    'x-auth',
    'x-session-id',
    'x-access-token',
    'client-secret',
    'x-whatever',
  ])('in %s is stored as a tag', (name) => {
    expect(clientOf([header(name)], [name, secret])).toMatch(new RegExp(`^${name}:#[0-9a-f]{16}$`));
  });

  it.each(['Bearer abcdef', 'basic dXNlcjpwYXNz', jwt({ sub: 'x' }), 'sk_live_abcdef', 'ghp_abcdef'])(
    'in a field for an id is stored as a tag: %s',
    (value) => {
      expect(clientOf([header('x-client-id')], ['x-client-id', value])).toMatch(/^x-client-id:#[0-9a-f]{16}$/);
    },
  );

  it('has another tag than 100,000 others', () => {
    const identification = new ClientIdentification(byDefault, salt);
    const tags = Array.from({ length: 100_000 }, (_one, n) => identification.clientOf(['X-Api-Key', `key-${n}`], ''));
    expect(new Set(tags).size).toBe(100_000);
    // With eight digits, which earlier releases stored, this many values would collide.
    expect(new Set(tags.map((one) => one.slice(0, 'x-api-key:#'.length + 7))).size).toBeLessThan(100_000);
  });

  it('has the same tag with the same salt only', () => {
    const raw = ['X-Api-Key', secret];
    const one = new ClientIdentification(byDefault, 'one').clientOf(raw, '');
    expect(new ClientIdentification(byDefault, 'one').clientOf(raw, '')).toBe(one);
    expect(new ClientIdentification(byDefault, 'two').clientOf(raw, '')).not.toBe(one);
  });
});

describe('a claim of a JWT', () => {
  const bySub = [{ by: 'jwt', claim: 'sub' }] as const;

  it('is a tag, and the same one in another token', () => {
    const [one, two] = [{ sub: 'ann' }, { sub: 'ann', iat: 5 }].map((claims) =>
      clientOf(bySub, ['Authorization', `Bearer ${jwt(claims)}`]),
    );
    expect(one).toMatch(/^jwt-sub:#[0-9a-f]{16}$/);
    expect(two).toBe(one);
    expect(clientOf(bySub, ['Authorization', `bearer ${jwt({ sub: 'bob' })}`])).not.toBe(one);
  });

  it.each([
    ['none', jwt({ iss: 'x' })],
    ['an inherited one', jwt({})],
    ['an object', jwt({ sub: { a: 1 } })],
    ['no object', jwt(null)],
    ['no JSON', 'eyJ.bm90IGpzb24.x'],
    ['two parts', 'a.b'],
    ['a very long one', `a.${'A'.repeat(20_000)}.b`],
    ['nested brackets', `a.${Buffer.from('['.repeat(9_000)).toString('base64url')}.b`],
  ])('may be missing: %s', (_name, token) => {
    expect(clientOf(bySub, ['Authorization', `Bearer ${token}`])).toBe('unknown');
    expect(clientOf([{ by: 'jwt', claim: 'toString' }], ['Authorization', `Bearer ${token}`])).toBe('unknown');
  });
});

describe('a hostile name', () => {
  const hostile = [
    '<script>alert(1)</script>',
    '=HYPERLINK("http://x","y")',
    '@SUM(A1)',
    '+1+2',
    '-2+3',
    '\x1b[31mred\x1b[0m',
    '\u009b31m',
    `a"b'c&d\`e`,
    'K\u00c3\u00b6ln',
    '\u00ff\u00fe\u0080',
    'x'.repeat(16_000),
    '#4f2a91c0',
    'a\tb',
    'a,b;c|d',
  ];

  it.each(hostile)('is made safe to print: %j', (value) => {
    const client = clientOf(byDefault, ['X-Client-Id', value]);
    expect(client).toMatch(/^x-client-id:(?:[0-9A-Za-z][0-9A-Za-z ._:/@+-]*)?~[0-9a-f]{16}$/);
    expect(client.length).toBeLessThanOrEqual('x-client-id:'.length + 64);
    expect(clientOf([{ by: 'user-agent' }], ['User-Agent', value])).toMatch(
      /^(?:unknown|user-agent:[0-9A-Za-z](?:[0-9A-Za-z ._:/@+-]{0,63}|[0-9A-Za-z ._:/@+-]{0,46}~[0-9a-f]{16}))$/,
    );
  });

  it('stays different from a similar name', () => {
    const long = 'x'.repeat(100);
    const clients = [`${long}a`, `${long}b`, 'K\u00c3\u00b6ln', 'K\u00c3\u00a4ln'].map((value) =>
      clientOf(byDefault, ['X-Client-Id', value]),
    );
    expect(new Set(clients).size).toBe(4);
    const agents = [`${long}a/1`, `${long}b/1`, `${'y'.repeat(300)}a`, `${'y'.repeat(300)}b`, "it's", 'it&s'].map(
      (value) => clientOf([{ by: 'user-agent' }], ['User-Agent', value]),
    );
    expect(new Set(agents).size).toBe(6);
    expect(agents[0]).toMatch(/^user-agent:x{47}~[0-9a-f]{16}$/);
  });
});
