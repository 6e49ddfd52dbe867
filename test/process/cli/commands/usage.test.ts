import { writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../gateway/shared/clock.ts';
import { day, hour, ledgerWith, row } from '../../../support/ledgerWith.ts';
import { startAdmin } from '../../../support/startAdmin.ts';
import { startFakeAdmin } from '../fakeAdmin.ts';
import { runIn } from '../io.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';
const routes = { '/v1': upstream, '/v2': upstream };

function rowsAt(instant: number) {
  return [
    row('v1', 'x-client-id:ios', instant - 2 * day, { requests: 1000, errors: 1 }),
    row('v1', 'x-client-id:ios', instant - day, { requests: 500 }),
    row('v2', 'x-client-id:ios', instant - 3 * day, { requests: 2 }),
    row('v1', 'user-agent:curl', instant - hour, { route: 'GET /old' }),
    row('v2', 'x-client-id:web', instant - hour, { requests: 4 }),
    row('', 'user-agent:scan', instant - hour),
  ];
}

async function usage(args: string[], rows = rowsAt(now), covered = now - 100 * day) {
  const admin = await startAdmin(routes, ledgerWith(rows, covered).queries, now);
  return await runIn('/', ['usage', ...args, '--admin', admin]);
}

describe('the tables', () => {
  it.each([
    [
      [],
      `usage in the last 30 days, since 2026-10-22T00:00Z

  version  requests  errors  clients  last call  by day
  /v1      1,501     1       2        1 h ago    ····························█▄▁
  /v2      6         0       2        1 h ago    ···························▄··█
  (none)   1         0       1        1 h ago    ······························█
`,
    ],
    [
      ['/v1', '--since', '3d'],
      `usage of /v1 in the last 3 days, since 2026-11-18T12:00Z

  version  client           requests  errors  routes                  first call  last call  by day
  /v1      x-client-id:ios  1,500     1       1: GET /drinks (1,500)  2026-11-19  1 day ago  ·█▄·
  /v1      user-agent:curl  1         0       1: GET /old (1)         2026-11-21  1 h ago    ···█
`,
    ],
    [
      ['v1', '--by', 'route'],
      `usage of /v1 in the last 30 days, since 2026-10-22T00:00Z

  version  route        requests  errors  clients  last call
  /v1      GET /drinks  1,500     1       1        1 day ago
  /v1      GET /old     1         0       1        1 h ago
`,
    ],
    [
      ['v1', '--by', 'day'],
      `usage of /v1 in the last 30 days, since 2026-10-22T00:00Z

  version  day         requests
  /v1      2026-11-19  1,000     ${'█'.repeat(30)}
  /v1      2026-11-20  500       ${'█'.repeat(15)}
  /v1      2026-11-21  1         █
`,
    ],
    [
      ['v1', '--by', 'migration'],
      `usage of /v1 in the last 30 days, since 2026-10-22T00:00Z

  version  client           state      requests  last call  successor  requests  last call
  /v1      x-client-id:ios  went back  1,500     1 day ago  /v2        2         3 days ago
  /v1      x-client-id:web  /v2 only   0         -          /v2        4         1 h ago
  /v1      user-agent:curl  /v1 only   1         1 h ago    /v2        0         -

  /v1 to /v2 in the last 30 days: 3 clients, 1 /v1 only, 0 both, 0 moved, 1 /v2 only, 1 went back
`,
    ],
  ])('of usage %j', async (args, expected) => {
    expect(await usage(args)).toEqual({ code: 0, stdout: expected, stderr: '' });
  });

  it('show when the ledger starts, if it is later', async () => {
    const { stdout } = await usage([], [row('v1', 'a', now - hour)], now - 2 * day);
    expect(stdout).toContain('Z\nThe ledger starts only 2 days ago; the counts are of this time.\n\n');
    expect(stdout).toMatch(/ 1 h ago {4,}··█\n$/);
  });

  it('show requests beyond the limit, pending rows and problems', async () => {
    const rows = [row('v1', 'a', now - hour), row('v1', 'other clients', now - hour, { requests: 1200 })];
    const { stdout } = await usage(['--by', 'client'], [...rows, row('', 'b', now - hour)]);
    expect(stdout).toContain(
      'Z\n1,200 requests of clients beyond usage.max_clients in the last 30 days are counted together as other clients.\n\n',
    );
    expect(stdout).toMatch(/\n {2}\(none\) +b +1 /);
  });

  it('show that there are no requests', async () => {
    const { code, stdout } = await usage(['/v1'], []);
    expect([code, stdout]).toEqual([0, expect.stringContaining('\n\n  no requests\n')]);
  });
});

const hostile = [
  row('v1', '=HYPERLINK("http://evil")\x1b]0;x\x07\r\n\u202e', now - hour, { route: '\x1b[2J\x9b\u{e0041}' }),
];

it.each(['client', 'route', 'migration'])('prints no control character by %s', async (by) => {
  for (const format of ['text', 'csv', 'json']) {
    const { code, stdout } = await usage(['/v1', '--by', by, '--format', format], hostile);
    expect(code).toBe(0);
    expect(stdout).toMatch(/HYPERLINK|x1b|u001b/);
    expect(stdout.replaceAll(/\r?\n/g, '')).not.toMatch(/\p{Cc}|\p{Cf}/u);
  }
});

it('prints CSV', async () => {
  const { stdout } = await usage(['/v1', '--format', 'csv'], hostile);
  expect(stdout.split('\r\n').slice(0, 2)).toEqual([
    'version,client,name,requests,errors,served,first,last,routes,top_routes,failing,refused,last_used',
    expect.stringMatching(/^v1,"'=HYPERLINK\(""http:\/\/evil""\)\\x1b\]0;x/),
  ]);
});

it('names the versions in the states of CSV, and distinguishes moved clients from new ones', async () => {
  const rows = [...rowsAt(now), row('v1', 'a', now - 40 * day), row('v2', 'a', now - hour)];
  const { stdout } = await usage(['/v1', '--by', 'migration', '--format', 'csv'], rows);
  const states = stdout
    .split('\r\n')
    .map((line) => line.split(','))
    .map((cells) => [cells[2], cells[4]]);
  expect(states).toEqual(
    expect.arrayContaining([
      ['a', 'moved'],
      ['x-client-id:web', '"/v2 only"'],
      ['user-agent:curl', '"/v1 only"'],
      ['x-client-id:ios', '"went back"'],
    ]),
  );
});

it('prints the response of the gateway as JSON', async () => {
  const { stdout } = await usage(['--by', 'day', '--format', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({ by: 'day', rows: Array(6).fill({}) });
});

describe('--store', () => {
  it('reads a ledger that a gateway is writing', async () => {
    const { file } = ledgerWith(rowsAt(systemClock.now()), systemClock.now() - 100 * day);
    const { code, stdout, stderr } = await runIn(dirname(file), ['usage', '--store', basename(file)]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/\n {2}\/v1 +1,501 +1 +2 +1 h ago +·+█[▁-▇]+·*\n/);
  });

  it('uses the next major in the ledger as the successor', async () => {
    const { file } = ledgerWith(rowsAt(systemClock.now()), 0);
    const { stdout } = await runIn('/', ['usage', '--by', 'migration', '--format', 'json', '--store', file]);
    const states = JSON.parse(stdout).rows.map((one: Record<string, string>) => [one['version'], one['successor']]);
    expect(states).toEqual([
      ['v1', 'v2'],
      ['v1', 'v2'],
      ['v1', 'v2'],
    ]);
  });

  it('names its clients from a file', async () => {
    const { file } = ledgerWith(rowsAt(systemClock.now()), 0);
    writeFileSync(`${file}.yaml`, '"user-agent:curl": Ann’s script');
    const args = ['usage', '/v1', '--store', basename(file), '--names', `${basename(file)}.yaml`];
    const { code, stdout, stderr } = await runIn(dirname(file), args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/\n {2}\/v1 +Ann’s script +1 /);
  });

  it.each([
    [['--store', 'usage.db', '--names', 'nowhere.yaml'], '/nowhere.yaml cannot be read: there is no such file.'],
    [['--names', 'names.yaml'], '--names requires --store: a running gateway reads its own usage.names.'],
  ])('exits 2 for %j', async (args, words) => {
    const { file } = ledgerWith([], 0);
    const { code, stdout, stderr } = await runIn(dirname(file), ['usage', ...args]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(words)]);
  });

  it('was written by a release that did not count the clients of each route', async () => {
    const { file, ledger } = ledgerWith(rowsAt(systemClock.now()), 0);
    ledger.close();
    const database = new DatabaseSync(file);
    for (const table of ['pair_hour', 'pair_day'])
      for (const column of ['served', 'failing', 'refused'])
        database.exec(`ALTER TABLE ${table} DROP COLUMN ${column}`);
    for (const column of ['first', 'used']) database.exec(`ALTER TABLE route_client DROP COLUMN ${column}`);
    database.exec('PRAGMA user_version = 4');
    database.close();
    const { stdout, stderr } = await runIn('/', ['usage', 'GET /v1/drinks', '--store', file]);
    expect(stdout + stderr).toContain(
      'which did not count the clients of each route.  Start this release once with this ledger.',
    );
    expect(stdout + stderr).not.toContain('no such column');
  });

  it('is missing', async () => {
    const { code, stdout, stderr } = await runIn('/', ['usage', '--store', '/nowhere/usage.db']);
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      '/nowhere/usage.db cannot be read as a usage ledger: there is no such file.  Give the usage.store of a gateway.\n',
    ]);
  });

  it('is not a ledger', async () => {
    const { file } = ledgerWith([], 0);
    writeFileSync(`${file}.txt`, 'a text that is long enough to have been something else altogether'.repeat(20));
    const { code, stderr } = await runIn('/', ['usage', '--store', `${file}.txt`]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('cannot be read as a usage ledger: it is not a ledger.'),
    ]);
  });
});

describe('exits 2', () => {
  it.each([
    [['one'], 'Write a version such as /v1, or a route such as'],
    [['--since', '7'], 'has no unit. Write 7s or 7ms.'],
    [['--by', 'name'], 'Allowed choices are version, client, route, day, migration.'],
    [['--format', 'markdown'], 'Allowed choices are text, json, csv.'],
    [['/v9'], 'answered 400.  `version`: it is neither in the configuration nor in the ledger.'],
    [['/v2', '--by', 'migration'], 'answered 400.  `version`: /v2 has no successor'],
  ])('for %j', async (args, words) => {
    const { code, stdout, stderr } = await usage(args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(words)]);
  });

  it.each(['{}', '{"by":"x","rows":[]}', '{"by":"day","rows":[1],"since":"","until":""}'])(
    'for another server that answers %s',
    async (body) => {
      const admin = await startFakeAdmin((_req, res) => res.end(body));
      const { code, stderr } = await runIn('/', ['usage', '--admin', admin]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('is not the admin listener')]);
    },
  );
});
