import { describe, expect, it } from 'vitest';
import { day, hour, ledgerWith, row } from '../../../support/ledgerWith.ts';
import { startAdmin } from '../../../support/startAdmin.ts';
import { startFakeAdmin } from '../fakeAdmin.ts';
import { runIn } from '../io.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';
const routes = {
  '/v1': { upstream, deprecation: '2026-09-01', sunset: '2026-11-01' },
  '/v2': { upstream, deprecation: '2026-09-01', sunset: '2026-12-01' },
  '/v3': upstream,
};

async function canRetire(args: string[], rows = [row('v3', 'a', now - hour, { requests: 1000 })], isTTY = false) {
  const admin = await startAdmin(routes, ledgerWith(rows, now - 100 * day).queries, now);
  return await runIn('/', ['can-retire', ...args, '--admin', admin], {}, isTTY);
}

const ios = row('v1', 'x-client-id:ios', now - 3 * hour, { requests: 1204, errors: 4 });

describe('can-retire', () => {
  it.each(['/v1', 'v1'])('%s: exits 0 for yes', async (version) => {
    const { code, stdout, stderr } = await canRetire([version]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /^Can \/v1 be retired\? {2}yes\n\n {2}No client called \/v1 in the last 7 days \(ignored and failing clients do not count\)\.\n/,
    );
    expect(stdout).toContain('The ledger only has the requests to this gateway');
  });

  it.each([
    ['no', '/v1', [ios], '1 client made 1,204 requests to /v1 in the last 7 days, 100% of all: x-client-id:ios'],
    ['not yet', '/v2', [ios], 'The sunset of /v2, 2026-12-01, is in the future.'],
    ['not yet', '/v3', [ios], 'No sunset is set for /v3'],
  ])('exits 1 for %s', async (answer, version, rows, words) => {
    const { code, stdout } = await canRetire([version], rows);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`Can ${version} be retired?  ${answer}\n\n  ${words}`)]);
  });

  it('lists the facts of the answer and the remaining clients', async () => {
    const { stdout } = await canRetire(['/v1'], [ios, row('v3', 'a', now - hour, { requests: 796 })]);
    expect(stdout).toContain(`
  stage        sunset
  deprecation  2026-09-01
  sunset       2026-11-01
  requests     1,204 in the last 7 days, 60.2% of all 2,000
  clients      1 in the last 7 days
  trend        no requests in the last 7 complete days  ······························ 30 complete days
  in flight    0 now
  successor    /v2, unknown
  ledger       starts 100 days ago

  in the last 7 days, the quiet period:
  client           requests  errors  routes                  last call
  x-client-id:ios  1,204     4       1: GET /drinks (1,204)  3 h ago
`);
  });

  it('counts the requests of clients beyond the limit, but not the clients', async () => {
    const rows = [ios, row('v1', 'other clients', now - hour, { requests: 4000 })];
    const { code, stdout } = await canRetire(['/v1'], rows);
    expect(code).toBe(1);
    expect(stdout).toContain(
      '  At least 1 client made 5,204 requests to /v1 in the last 7 days, 100% of all: x-client-id:ios (last call 3 h ago, 1,204 requests); and 4,000 requests of clients beyond usage.max_clients, which are counted together as other clients.\n',
    );
    expect(stdout).toContain('  clients      at least 1 in the last 7 days\n');
    expect(stdout).not.toMatch(/^ +other clients/m);
  });

  it('lists the clients of a version that is no longer in routes.yaml', async () => {
    const rows = [row('v0', 'x-client-id:ios', now - hour, { requests: 3, served: 0 })];
    const { code, stdout } = await canRetire(['/v0'], rows);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^Can \/v0 be retired\? {2}no\n\n {2}\/v0 is no longer in routes\.yaml, so its clients get 404\.\n {2}1 client made 3 requests to \/v0 in the last 7 days, 100% of all: x-client-id:ios/,
    );
    expect(stdout).toContain('  stage        removed\n');
  });

  it('waits for a client that calls once a month, until it is overdue', async () => {
    const visits = (...daysAgo: number[]) =>
      daysAgo.map((days) => row('v1', 'x-client-id:payroll', now - days * day, { requests: 40 }));
    const expected = await canRetire(['/v1'], visits(99, 69, 39, 9));
    expect(expected.code).toBe(1);
    expect(expected.stdout).toMatch(
      /^Can \/v1 be retired\? {2}not yet\n\n {2}1 client of \/v1 usually pauses for about 7 days .+: x-client-id:payroll \(last call 9 days ago, usually every 30 days, 160 requests since 2026-08-14\)\.\n/,
    );
    expect((await canRetire(['/v1'], visits(99, 92, 85, 78))).code).toBe(0);
  });

  it('names a client that called in one burst before the quiet period', async () => {
    const { code, stdout } = await canRetire(['/v1'], [row('v1', 'x-client-id:once', now - 9 * day, { requests: 40 })]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      '\n  Clients that called before the last 7 days and not since: x-client-id:once (last call 9 days ago, 40 requests since 2026-11-12).\n',
    );
  });

  it('has an option for the quiet period', async () => {
    const { code, stdout } = await canRetire(['/v1', '--quiet', '2h'], [ios]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('called /v1 in the last 2 h (')]);
  });

  it('prints the response of the gateway as JSON', async () => {
    const { code, stdout } = await canRetire(['/v1', '--format', 'json'], [ios]);
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ version: 'v1', answer: 'no' })]);
  });

  const hostile = row('v1', 'a|b`<img>[x](y)\x1b[2J\r\n\u202e', now - hour, { requests: 5 });

  it('escapes client names in Markdown', async () => {
    const { code, stdout } = await canRetire(['/v1', '--format', 'markdown'], [hostile]);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^# Can \/v1 be retired\? no\n\n- 1 client made 5 requests/),
    ]);
    const cells = stdout.split('\n').find((line) => line.startsWith('| a'));
    expect(cells).toContain(
      '| a&#124;b&#96;&#60;img&#62;&#91;x&#93;(y)&#92;x1b&#91;2J&#92;x0d&#92;x0a&#92;u{202e} | 5 | 0 | 1: GET /drinks (5) |',
    );
  });

  it.each(['text', 'markdown', 'json'])('prints no control character as %s', async (format) => {
    const { stdout } = await canRetire(['/v1', '--format', format], [hostile]);
    expect(stdout).toContain('img');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\p{Cf}/u);
  });

  it('colours the answer on a terminal', async () => {
    const { stdout } = await canRetire(['/v1'], [ios], true);
    expect(stdout).toContain('retired?  \x1b[31mno\x1b[39m\n');
  });
});

describe('exits 2', () => {
  it.each([
    [[], 'missing required argument'],
    [['one'], 'Write a version such as /v1, or a route such as'],
    [['/v1/../../x'], 'Write a version such as /v1, or a route such as'],
    [['/v1', '--quiet', '7'], 'has no unit. Write 7s or 7ms.'],
    [['/v1', '--quiet', 'off'], 'is not a duration.'],
    [['/v1', '--format', 'csv'], 'Allowed choices are text, json, markdown.'],
    [
      ['/v9'],
      'answered 404.  No such version: it is neither in the configuration nor in the ledger.  The configuration has /v1, /v2, /v3.\n',
    ],
  ])('for %j', async (args, words) => {
    const { code, stdout, stderr } = await canRetire(args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(words)]);
  });

  it('for a gateway without a ledger', async () => {
    const { code, stderr } = await runIn('/', [
      'can-retire',
      '/v1',
      '--admin',
      await startAdmin(routes, undefined, now),
    ]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/answered 503\. {2}This gateway keeps no usage ledger.+\.\n$/),
    ]);
  });

  it.each(['{}', '[]', '{"answer":"maybe","reasons":[],"notes":[],"facts":{"clients":[]}}', '{"answer":"yes"}'])(
    'for another server that answers %s',
    async (body) => {
      const admin = await startFakeAdmin((_req, res) => res.end(body));
      const { code, stdout, stderr } = await runIn('/', ['can-retire', '/v1', '--admin', admin]);
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('is not the admin listener')]);
    },
  );
});
