import { describe, expect, it } from 'vitest';
import { redactPath, redactQuery, secretNamesIn } from '../../../gateway/usage/observability/redact.ts';

const secret: string[] = [
  ...['auth', 'bearer', 'sid', 'jsessionid', 'otp', 'pin', 'ticket', 'passphrase', 'credential', 'user[password]'],
  ...['token', 'TOKEN', 'toKEN', 'access_token', 'accessToken', 'accesstoken', 'refresh-token', 'id.token', 'token[]'],
  ...['%74oken', '%2574oken', 'tok%65n', 'user%5Bpassword%5D', 'user[0][passWord]', 'a+password', 'password1'],
  ...['api_key', 'apiKey', 'APIKey', 'apikey', 'API-KEY', 'x.api.key', 'key', 'AWSAccessKeyId', 'subscription-key'],
  ...['PHPSESSID', 'JSESSIONID', 'ASP.NET_SessionId', 'connect.sid', 'session', 'sessionId', 'session_id'],
  ...['client_secret', 'client_assertion', 'SAMLResponse', 'oauth2', 'authorization', 'jwt', 'csrfmiddlewaretoken'],
  ...['X-Amz-Signature', 'X-Amz-Security-Token', 'X-Amz-Credential', 'X-Goog-Signature', 'sig', 'signature', 'hmac'],
  ...['code', 'auth_code', 'verificationCode', 'devicecode', 'pass', 'pwd', 'passwd', 'new_password', 'pin_code'],
];

const harmless: string[] = [
  ...['author', 'authors', 'authority', 'pinned', 'pins', 'spin', 'keyboard', 'keyword', 'monkey', 'ticketing_region'],
  ...['inside', 'side', 'sidebar', 'compass', 'passenger', 'bypassed', 'tokens', 'max_tokens', 'tokenizer', 'codec'],
  ...['country_code', 'postalCode', 'statuscode', 'design', 'signal', 'resign', 'obsession', 'bearers', 'user[name]'],
  ...['page', 'q', 'from', 'constructor', '__proto__', '%', '%zz', '', 'opt', 'secretary'],
];

const none = secretNamesIn([]);

describe('the value of a query parameter', () => {
  it.each(secret)('is hidden: %s', (name) => {
    expect(redactQuery(`a=1&${name}=hunter2&b=3`, none)).toBe(`a=1&${name}=***&b=3`);
    expect(redactQuery(`a=1;${name}=hunter2`, none)).toBe(`a=1;${name}=***`);
  });

  it.each(harmless)('is shown: %j', (name) => {
    expect(redactQuery(`a=1&${name}=2&b=3`, none)).toBe(`a=1&${name}=2&b=3`);
  });

  it.each([
    ['next=%2Fcallback%3Ftoken%3Dhunter2', 'next=***'],
    ['next=https://api.test/cb?state=1%26access_token=hunter2', 'next=***'],
    ['next=%252Fcb%253Ftoken%253Dhunter2', 'next=***'],
    ['filter={%22password%22:%22hunter2%22}', 'filter=***'],
    ['url=https://user:hunter2@api.test/', 'url=***'],
    ['next=/drinks?page=2&at=12:30', 'next=/drinks?page=2&at=12:30'],
    ['url=https://api.test/drinks%3Fauthor%3Dme', 'url=https://api.test/drinks%3Fauthor%3Dme'],
    ['token', 'token'],
    ['token=a=b', 'token=***'],
    ['=hunter2', '=hunter2'],
  ])('in %s: %s', (query, expected) => expect(redactQuery(query, none)).toBe(expected));

  it('is hidden for configured names in any spelling', () => {
    const names = secretNamesIn(['customer-ref']);
    expect(redactQuery('customer_ref=1&customer[ref]=2&customerRef=3&customer=4', names)).toBe(
      'customer_ref=***&customer[ref]=***&customerRef=***&customer=4',
    );
  });
});

describe('the value of a path parameter', () => {
  it.each([
    ['/v1/cart;jsessionid=A1B2/items', '/v1/cart;jsessionid=***/items'],
    ['/v1/cart;JSESSIONID=A1B2;v=2', '/v1/cart;JSESSIONID=***;v=2'],
    ['/v1/cart%3bjsessionid%3dA1B2/items', '/v1/cart%3bjsessionid%3d***/items'],
    ['/v1/cart%253Bjsessionid%253DA1B2', '/v1/cart%253Bjsessionid%253D***'],
    ['/v1/token=A1B2/x', '/v1/token=***/x'],
    ['/v1/cart;v=2/items;author=me', '/v1/cart;v=2/items;author=me'],
    ['/v1/cart;next=https%3A%2F%2Fann:pw@a.example/x', '/v1/cart;next=***/x'],
    ['/v1/cart;next=%2Flogin%3Ftoken%3DA1B2', '/v1/cart;next=***'],
    ['/v1/cart;next=%2Fdrinks%3Fpage%3D2', '/v1/cart;next=%2Fdrinks%3Fpage%3D2'],
    ['/v1/cart;sid', '/v1/cart;sid'],
    ['/v1/drinks/7', '/v1/drinks/7'],
  ])('in %s: %s', (path, expected) => expect(redactPath(path, none)).toBe(expected));
});

// A client chooses the text. Quadratic time would take 100 times as long for 10 times the length.
it.each(['a', 'A', 'aA', '%', '%25', '%3d', '[', '=', ':', '://', ';', '&', 'token', 'a.'])(
  '%j over and over is read in one pass',
  (text) => {
    const took = (length: number): number => {
      const given = text.repeat(length / text.length);
      const startedAt = process.cpuUsage();
      redactQuery(`${given}=${given}`, none);
      redactPath(`/${given}=${given}`, none);
      return process.cpuUsage(startedAt).user;
    };
    took(8_000);
    expect(took(80_000)).toBeLessThan(40 * Math.max(took(8_000), 10_000));
  },
);
