import { describe, expect, it } from 'vitest';
import type { UsageQueries } from '../../../../gateway/usage/usageQueries.ts';
import { day, hour, ledgerWith, row } from '../../../support/ledgerWith.ts';
import { startAdmin } from '../../../support/startAdmin.ts';
import { startFakeAdmin } from '../fakeAdmin.ts';
import { runIn } from '../io.ts';

const begin = Date.parse('2026-11-10T14:00:00Z');
const end = begin + hour;
const now = end + 10 * day;
const upstream = 'http://127.0.0.1:3001';
const routes = {
  '/v1': {
    upstream,
    deprecation: '2026-06-01',
    sunset: '2026-11-15',
    brownouts: [
      { at: '2026-11-10T14:00Z', for: '1h' },
      { at: '2026-11-14T14:00Z', for: '1h' },
    ],
  },
  '/v2': upstream,
};

const refused = (client: string, at: number, requests: number, brownout = begin) =>
  row('v1', client, at, { brownout, requests, refused: requests, served: 0, accepted: 0 });

const rows = [
  refused('x-client-id:mover', begin + 60_000, 3),
  row('v2', 'x-client-id:mover', end + day),
  refused('x-client-id:stubborn', begin + 120_000, 1200),
  row('v1', 'x-client-id:stubborn', end + hour),
  row('v1', 'user-agent:probe', begin + 60_000, { requests: 5 }),
  row('v1', 'user-agent:curl', begin + 60_000, { requests: 90 }),
];

async function brownout(args: string[], queries: UsageQueries = ledgerWith(rows, begin - 30 * day).queries) {
  const admin = await startAdmin(routes, queries, now, { ignore_clients: ['probe'] });
  return runIn('/', [...args, '--admin', admin]);
}

describe('brownout report', () => {
  it('lists the refused clients by class, and those that were not refused', async () => {
    const { code, stdout, stderr } = await brownout(['brownout', 'report', '/v1', '--window', '1']);
    expect([code, stderr]).toEqual([0, '']);
    expect(
      stdout,
    ).toBe(`The brownout of /v1 at 2026-11-10T14:00:00Z refused 1,203 requests of 2 clients: 1 kept retrying, 1 moved.

  client                since then     refused  last call    successor
  x-client-id:stubborn  kept retrying  1,200    9 days ago   -
  x-client-id:mover     moved          3        10 days ago  9 days ago

Not refused
  client                                                requests on these days
  user-agent:probe  spared by the configuration         5
  user-agent:curl   not chosen, or called other routes  90

  window        begins                ends                  refused  clients
  1 (this one)  2026-11-10T14:00:00Z  2026-11-10T15:00:00Z  1,203    2
  2             2026-11-14T14:00:00Z  2026-11-14T15:00:00Z  0        0
`);
  });

  it('is about the last brownout that has begun, unless another one is named', async () => {
    expect((await brownout(['brownout', 'report', 'v1'])).stdout).toContain(
      'The brownout of /v1 at 2026-11-14T14:00:00Z refused 0 requests.\n',
    );
    const named = await brownout(['brownout', 'report', '/v1', '--window', '2026-11-10T14:00Z', '--format', 'json']);
    expect(JSON.parse(named.stdout)).toMatchObject({ kind: 'brownout report', number: 1, client_count: 2 });
    expect((await brownout(['brownout', 'report', '/v2'])).stdout).toBe('No brownout of /v2 has begun.\n');
  });

  it('writes Markdown in which client names create nothing', async () => {
    const queries = ledgerWith([refused('user-agent:<b>|x', begin, 1)], begin - day).queries;
    const { stdout } = await brownout(['brownout', 'report', '/v1', '--window', '1', '--format', 'markdown'], queries);
    expect(stdout).toContain('| user-agent:&#60;b&#62;&#124;x | silent since | 1 | 10 days ago | - |');
  });

  it.each([
    ['/v7', [], 'No such version'],
    ['/v1', ['--window', '3'], '`window`: /v1 has no such brownout.'],
    ['/v1', ['--window', '0'], '`window` must be the number of a brownout'],
    ['/v1', ['--window', '2026-11-10'], '`window` must be the number of a brownout'],
  ])('explains what is wrong with %s %j', async (version, options, message) => {
    const { code, stderr } = await brownout(['brownout', 'report', version, ...options]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('rejects an answer of another program', async () => {
    const admin = await startFakeAdmin((_req, res) => void res.end('{"kind":"other"}'));
    const { code, stderr } = await runIn('/', ['brownout', 'report', '/v1', '--admin', admin]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not the admin listener')]);
  });
});

describe('can-retire', () => {
  it('quotes the report in a note', async () => {
    const { stdout } = await brownout(['can-retire', '/v1']);
    expect(stdout).toContain('The brownout of /v1 at 2026-11-10T14:00:00Z refused 1,203 requests of 2 clients');
  });

  it('is no without the brownout and with it: a brownout in which every client fell silent causes no yes', async () => {
    const { queries } = ledgerWith(
      [refused('x-client-id:silent', now - 2 * hour, 3, now - 2 * hour)],
      begin - 30 * day,
    );
    const { code, stdout } = await brownout(['can-retire', '/v1'], queries);
    expect([code, stdout]).toEqual([1, expect.stringContaining('retired?  no\n')]);
    expect(stdout).toContain('1 silent since');
  });
});

describe('digest', () => {
  const whatChanged = (stdout: string): string =>
    stdout.split('## ').find((part) => part.startsWith('What changed')) ?? '';

  it('says what was decided about past brownouts, and leaves out those without a decision', async () => {
    const { ledger, queries } = ledgerWith(rows, begin - 30 * day);
    ledger.saveBrownouts([{ version: 'v1', at: begin, state: 'stopped', reason: 'a test', changed: begin + 60_000 }]);
    const { code, stdout } = await brownout(['digest', '--since', '30d'], queries);
    expect(code).toBe(0);
    expect(whatChanged(stdout)).toContain('the brownout of /v1 was stopped: a test');
    expect(whatChanged(stdout).match(/brownout/g)).toHaveLength(1);
    expect(stdout).toContain('in the last 30 days.');
  });

  it('names a period in words, and refuses one below an hour', async () => {
    const { stdout } = await brownout(['digest', '--since', '36500d']);
    expect(stdout).toContain('in the whole ledger.');
    expect(stdout).not.toMatch(/\d ms|1970|before, 0/);
    const { code, stderr } = await brownout(['digest', '--since', '1s']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--since must be 1h or more')]);
  });
});
