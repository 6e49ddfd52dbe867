import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerSettingsOf } from '../../../../gateway/config/answerSettings.ts';
import { snapshotFrom } from '../../../../gateway/config/load.ts';
import type { FleetOperations } from '../../../../gateway/operate/admin/operations.ts';
import type { UsageQueries } from '../../../../gateway/usage/usageQueries.ts';
import { fleetOf } from '../../../browser/dashboardGateway.ts';
import { noUsage } from '../../../browser/sampleUsage.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { day, hour, ledgerWith, row } from '../../../support/ledgerWith.ts';
import { startAdmin } from '../../../support/startAdmin.ts';
import { startFakeAdmin } from '../fakeAdmin.ts';
import { runIn } from '../io.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';
const routes = { '/v1': upstream, '/v2': upstream };
const retired = `routes:\n  /v1: { upstream: "${upstream}", retired: true }\n  /v2: "${upstream}"\n`;

const hostile = 'a|b`<img>[x](y)\x1b[2J\r\n\u202e';
const rows = [
  row('v1', 'x-client-id:ios', now - 3 * hour, { requests: 1204 }),
  row('v2', 'x-client-id:ios', now - 3 * hour, { requests: 10 }),
  row('v1', hostile, now - hour, { requests: 5, route: 'POST /drinks' }),
  row('v2', 'x-client-id:web', now - hour, { requests: 4 }),
];

function folderWith(text = retired): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'new.yaml'), text);
  return folder;
}

async function plan(
  args: readonly string[],
  usage: UsageQueries = ledgerWith(rows, now - 100 * day).queries,
  text = retired,
) {
  const admin = await startAdmin(routes, usage, now);
  return runIn(folderWith(text), ['plan', ...args, '--admin', admin]);
}

describe('plan', () => {
  it('prints the clients that would lose requests, and exits 1', async () => {
    const { code, stdout, stderr } = await plan(['new.yaml']);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toBe(
      `Plan for the requests since 2026-11-14T12:34:56Z (recorded without a gap since 2026-08-13T12:34:56Z)

  2 clients would lose 1,209 of the 1,223 requests that backends answered in the last 7 days: x-client-id:ios (1,204), a|b\`<img>[x](y)\\x1b[2J\\x0d\\x0a\\u{202e} (5).

  version  stage    answer           clients  requests  lost
  /v1      retired  is answered 410  2        1,209     1,209
  /v2      active   stays served     2        14        0

  client                                  loses  served  410    routes                    last call
  x-client-id:ios                         1,204  10      1,204  /v1: GET /drinks (1,204)  3 h ago
  a|b\`<img>[x](y)\\x1b[2J\\x0d\\x0a\\u{202e}  5      0       5      /v1: POST /drinks (5)     1 h ago
  1 client would lose nothing.
`,
    );
  });

  it('plans to retire a version of the running configuration', async () => {
    const { code, stdout } = await plan(['--retire', '/v2']);
    expect([code, stdout]).toEqual([1, expect.stringContaining('  2 clients would lose 14 of the 1,223 requests')]);
    expect(await plan(['--retire', '/v9'])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('No such version: it is neither in the configuration'),
    });
  });

  it('exits 0 if no client loses a request', async () => {
    const { code, stdout } = await plan(
      ['new.yaml', '--since', '2h'],
      ledgerWith([rows[3] ?? row('v2', 'a', now)], now - day).queries,
    );
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(
        '\n  No client would lose a request: in the last 2 h, backends answered 4 requests, and the gateway would refuse none of them.\n',
      ),
    ]);
    expect(stdout).not.toContain('  client ');
  });

  it('plans for an instant', async () => {
    const dated = retired.replace('retired: true', 'deprecation: 2026-01-01, sunset: 2027-01-01, after_sunset: gone');
    expect((await plan(['new.yaml'], undefined, dated)).code).toBe(0);
    const { code, stdout } = await plan(['new.yaml', '--at', '2027-01-01'], undefined, dated);
    expect([code, stdout.split('\n')[0]]).toEqual([
      1,
      expect.stringContaining('Plan as of 2027-01-01T00:00:00Z for the requests since 2026-11-14T12:34:56Z'),
    ]);
  });

  it.each(['text', 'markdown', 'json'])('prints no control character as %s', async (format) => {
    const { stdout } = await plan(['new.yaml', '--format', format]);
    expect(stdout).toContain('img');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\p{Cf}/u);
  });

  it('escapes client names in Markdown', async () => {
    const { stdout } = await plan(['new.yaml', '--format', 'markdown']);
    expect(stdout).toMatch(/^# Plan for the requests since .+\n\n2 clients would lose 1,209 of/);
    expect(stdout).toContain('\n| client | loses | served | 410 | routes | last call |\n|---|---|---|---|---|---|\n');
    expect(stdout).toContain('\n| a&#124;b&#96;&#60;img&#62;&#91;x&#93;(y)&#92;');
  });

  it('prints the response of the gateway as JSON', async () => {
    const { code, stdout } = await plan(['new.yaml', '--format', 'json']);
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ kind: 'plan', losing_count: 2 })]);
  });
});

describe('without a gateway', () => {
  it('reads a ledger file, and the names of the candidate', async () => {
    const { file, ledger } = ledgerWith(
      [row('v1', 'user-agent:curl', Date.now(), { requests: 3 })],
      Date.now() - 100 * day,
    );
    const folder = folderWith(`${retired}usage: { names: names.yaml }\n`);
    writeFileSync(join(folder, 'names.yaml'), 'user-agent:curl: The shop\n');
    const { code, stdout } = await runIn(folder, ['plan', 'new.yaml', '--store', file]);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^ {2}1 client would lose 3 of the 3 .+: The shop \(3\)\.$/m),
    ]);
    writeFileSync(join(folder, 'other.yaml'), 'user-agent:curl: A script\n');
    const other = await runIn(folder, ['plan', 'new.yaml', '--store', file, '--names', 'other.yaml']);
    expect(other.stdout).toContain('A script (3).');
    const retireV2 = () => runIn(folder, ['plan', '--retire', '/v2', '--config', 'new.yaml', '--store', file]);
    // The gateway of the ledger has no marks of its calls, and may have calls that it has not counted.
    expect((await retireV2()).code).toBe(3);
    ledger.close();
    const v2 = await retireV2();
    expect([v2.code, v2.stdout]).toEqual([0, expect.stringContaining('/v1 is refused already: 3 requests')]);
  });

  it.each([
    ['an hour', hour, 0, 3],
    ['a month', 30 * day, 0, 0],
    ['a month, which ended before two hours', 30 * day, 2 * hour, 3],
  ])(
    'does not know who calls a version that the file lacks: nobody in %s of records',
    async (_period, covered, ago, code) => {
      const last = row('v2', 'user-agent:curl', Date.now() - ago);
      const { file, ledger } = ledgerWith([last], Date.now() - covered);
      const served = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1', '/v2': 'http://127.0.0.1:1' } });
      ledger.configure({ ...ledger.settings, answers: answerSettingsOf(served) });
      ledger.add([]);
      ledger.close();
      const folder = folderWith('routes: { /v2: "http://127.0.0.1:1" }\n');
      const { code: found, stdout } = await runIn(folder, ['plan', 'new.yaml', '--store', file]);
      expect([found, stdout]).toEqual([code, expect.anything()]);
    },
  );

  it.each([
    [['new.yaml', '--store', 'nothing.db'], 'nothing.db cannot be read as a usage ledger: '],
    [['--retire', '/v9', '--config', 'new.yaml', '--store', 'nothing.db'], 'The configuration has no version /v9.\n'],
    [['bad.yaml', '--store', 'nothing.db'], 'bad.yaml has faults and cannot be used: see version-gateway check.\n'],
    [['missing.yaml', '--store', 'nothing.db'], 'missing.yaml cannot be read: there is no such file\n'],
  ])('exits 2 for %j', async (args, words) => {
    const folder = folderWith();
    writeFileSync(join(folder, 'bad.yaml'), 'routes: {}\n');
    const { code, stdout, stderr } = await runIn(folder, ['plan', ...args]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(words)]);
  });
});

describe('exits 2', () => {
  it.each([
    [[], 'Give either the routes.yaml to plan for, or --retire with a version such as /v1.\n'],
    [['new.yaml', '--retire', '/v1'], 'Give either the routes.yaml to plan for, or --retire'],
    [['new.yaml', '--names', 'x.yaml'], '--names requires --store'],
    [['new.yaml', '--at', '2027'], 'It is not a date.'],
    [['new.yaml', '--since', '7'], 'has no unit'],
    [['missing.yaml'], 'missing.yaml cannot be read: there is no such file\n'],
  ])('for %j', async (args, words) => {
    const { code, stdout, stderr } = await plan(args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(words)]);
  });

  it('for a file that the gateway cannot use', async () => {
    const { code, stderr } = await plan(['new.yaml'], undefined, 'routes:\n  /v1: nowhere\n');
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /^routes\.yaml:2:8 {2}routes\.\/v1\n(?:.*\n)+The running gateway cannot use new\.yaml: see /,
      ),
    ]);
  });

  it('for a ledger that cannot be read, instead of a plan without its requests', async () => {
    const { code, stdout, stderr } = await plan(['new.yaml'], { ...noUsage, problem: 'The disk reports an error.' });
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      expect.stringContaining('answered 503.  The disk reports an error.'),
    ]);
  });

  it('for another server', async () => {
    const admin = await startFakeAdmin((_req, res) => res.end('{"kind":"plan"}'));
    const { code, stderr } = await runIn(folderWith(), ['plan', 'new.yaml', '--admin', admin]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not the admin listener')]);
  });
});

describe('in a fleet', () => {
  const silent = { code: 'gateway_silent', text: 'Gateway gw-2 has not been heard for 3 min.' };
  const late = { code: 'counts_on_their_way', text: 'The counts of gw-3 are missing.' };

  /** A fleet that notes the versions for whose counts it waits. */
  const fleet = (awaited: string[]): FleetOperations => ({
    ...fleetOf([]),
    facts: () => ({ heard: 3, inFlight: 0, waiting: 0, gaps: [silent], remarksOnUnsent: [late], notes: [] }),
    awaitCounts: async (versions) => {
      awaited.push(...versions);
      return new Map();
    },
  });

  it('waits for the counts of the other gateways and does not answer that no client loses a request while calls are missing', async () => {
    const awaited: string[] = [];
    const { queries } = ledgerWith([row('v2', 'a', now - hour)], now - 100 * day);
    const admin = await startAdmin(routes, queries, now, {}, fleet(awaited));
    const { code, stdout } = await runIn('/', ['plan', '--retire', '/v1', '--admin', admin]);
    expect([code, awaited]).toEqual([3, ['v1', 'v2']]);
    expect(stdout).toContain(`\n  ${silent.text}\n  ${late.text}\n\n`);
  });

  it('asks for the gateways that are missing within guard.quiet, also if --since is shorter, and within --since if it is longer', async () => {
    const { queries } = ledgerWith([row('v2', 'a', now - hour)], now - 100 * day);
    // A gateway that was last heard three hours ago, so its calls of the last three hours are missing.
    const gone = (quiet: number) => (quiet > 3 * hour ? [silent] : []);
    const operations: FleetOperations = {
      ...fleet([]),
      facts: (_version, quiet) => {
        return { heard: 3, inFlight: 0, waiting: 0, gaps: gone(quiet), remarksOnUnsent: [], notes: [] };
      },
    };
    const codeWith = async (since: string, guard: string) => {
      const admin = await startAdmin(routes, queries, now, {}, operations, { quiet: guard });
      return (await runIn('/', ['plan', '--retire', '/v1', '--since', since, '--admin', admin])).code;
    };
    expect(await codeWith('1h', '24h')).toBe(3);
    expect(await codeWith('7d', '1h')).toBe(3);
    expect(await codeWith('1h', '2h')).toBe(0);
  });

  it('does not wait if a client loses a request, and names the gateways whose calls are missing', async () => {
    const awaited: string[] = [];
    const { queries } = ledgerWith(rows, now - 100 * day);
    const admin = await startAdmin(routes, queries, now, {}, fleet(awaited));
    const { code, stdout } = await runIn('/', ['plan', '--retire', '/v1', '--admin', admin]);
    expect([code, awaited]).toEqual([1, []]);
    expect(stdout).toContain(`\n  ${silent.text}\n\n`);
  });
});
