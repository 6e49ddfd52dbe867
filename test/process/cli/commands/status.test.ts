import { describe, expect, it } from 'vitest';
import type { StatusJson, VersionJson } from '../../../../gateway/operate/admin/statusJson.ts';
import { statusAsText } from '../../../../gateway/process/cli/output/statusReport.ts';
import { ago } from '../../../../gateway/shared/text.ts';
import { refusedUrl, startTestGateway } from '../../../support/gateway.ts';
import { startFakeAdmin } from '../fakeAdmin.ts';
import { runIn } from '../io.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

const v1: VersionJson = {
  version: 'v1',
  stage: 'retired',
  deprecation: '2026-06-30T00:00:00.000Z',
  sunset: '2026-09-30T23:59:59.000Z',
  in_flight: 2,
  waiting: 1,
  last_served: '2026-11-21T11:56:30.000Z',
  waivers: [],
  safe_to_stop: false,
  unreachable: false,
  stopped_before_retired: false,
  targets: [],
};
const target = {
  url: 'http://127.0.0.1:3002',
  health: 'healthy',
  ejected_until: null,
  reachable: true,
  in_flight: 0,
  connections: 1,
};
const v2 = { ...v1, version: 'v2', stage: 'active', deprecation: null, sunset: null, last_served: null };
const v1Safe = { ...v1, in_flight: 0, waiting: 0, safe_to_stop: true };

function statusOf(...versions: VersionJson[]): StatusJson {
  const loaded_at = '2026-11-21T10:00:00.000Z';
  return {
    config: {
      fingerprint: '0123456789abcdef0123',
      generation: 3,
      loaded_at,
      trigger: 'file',
      forced: [],
      last_failure: null,
    },
    workers: [],
    versions,
  };
}

const plain = (_style: string, text: string): string => text;

describe('the report', () => {
  it('does not announce a freeze that has begun while its known clients are read', () => {
    const freeze = { version: 'v1', from: '2026-11-20T00:00:00Z', mode: 'refuse', reason: null } as const;
    const counts = { known_clients: null, new_clients: 0 };
    const text = (state: 'scheduled' | 'reading') =>
      statusAsText({ ...statusOf(v1), freezes: [{ ...freeze, ...counts, state }] }, now, plain);
    expect(text('scheduled')).toContain('\n/v1 will be frozen from 2026-11-20T00:00:00Z on\n');
    expect(text('reading')).toContain('\nthe freeze of /v1 is not active yet: its known clients are being read\n');
  });

  it('is a table, with the targets below each version', () => {
    const other = {
      ...target,
      url: 'http://127.0.0.1:3003',
      health: 'ejected',
      ejected_until: '2026-11-21T12:00:05.000Z',
    } as const;
    const status = statusOf(v1, { ...v2, in_flight: 0, waiting: 0, targets: [target, { ...other, reachable: false }] });
    expect(
      statusAsText(status, now, plain),
    ).toBe(`configuration 0123456789ab, generation 3, loaded 2 h ago after an edit of the file

  version  stage    deprecation  sunset                in flight now  waiting now  last served
  /v1      retired  2026-06-30   2026-09-30T23:59:59Z  2              1            3 min ago
  /v2      active   -            -                     0              0            not since start
      http://127.0.0.1:3002  healthy                                              0 in flight now  1 connection now
      http://127.0.0.1:3003  ejected until 2026-11-21T12:00:05.000Z, unreachable  0 in flight now  1 connection now
`);
  });

  it('shows why the last edit was rejected, without control characters', () => {
    const status = statusOf(v1);
    const reasons = ['routes.yaml:2:8  routes./v1\n  nowhere is no URL.', 'x\x1b[2J'];
    const last_failure = { at: '2026-11-21T11:59:58.000Z', trigger: 'signal', reasons } as const;
    const text = statusAsText({ ...status, config: { ...status.config, last_failure } }, now, plain);
    expect(text).toContain(`the reload by SIGHUP was rejected 2 s ago:
  routes.yaml:2:8  routes./v1
    nowhere is no URL.
  x\\x1b[2J
`);
  });

  it('shows the last error of unavailable targets, and when it was', () => {
    const last_error = 'connect ECONNREFUSED\x1b[2J';
    const last_error_at = '2026-11-21T11:59:00.000Z';
    const down = { ...target, url: 'http://127.0.0.1:3003', health: 'failing', last_error, last_error_at } as const;
    const text = statusAsText(
      statusOf({ ...v2, targets: [{ ...target, last_error, last_error_at }, down] }),
      now,
      plain,
    );
    const lines = text.split('\n').filter((line) => line.includes('ECONNREFUSED'));
    expect(lines).toEqual([
      '      http://127.0.0.1:3003  failing  0 in flight now  1 connection now  connect ECONNREFUSED\\x1b[2J, 1 min ago',
    ]);
  });

  it('does not call a target healthy that was not tried', () => {
    const text = statusAsText(
      statusOf({ ...v2, targets: [{ ...target, health: 'not tried', reachable: null }] }),
      now,
      plain,
    );
    expect(text).toContain('http://127.0.0.1:3002  not tried yet  0 in flight now');
    expect(text).not.toContain('healthy');
  });

  it('mentions the ledger only if it has a problem', () => {
    const withUsage = (problem: string | null, held_rows: number) =>
      statusAsText({ ...statusOf(v1), usage: { problem, held_rows } }, now, plain);
    expect(withUsage(null, 0)).toBe(statusAsText({ ...statusOf(v1), usage: null }, now, plain));
    expect(withUsage(null, 0)).not.toContain('ledger');
    expect(withUsage('usage.db cannot be written: the disk is full.', 1)).toContain(
      '\nusage ledger: usage.db cannot be written: the disk is full.  1 row in memory now.\n',
    );
    expect(withUsage(null, 2)).toContain('\nusage ledger: pending rows are being written.  2 rows in memory now.\n');
  });

  it('warns about a version that was stopped before it was retired', () => {
    const text = statusAsText(
      statusOf(v1, { ...v2, unreachable: true, stopped_before_retired: true }),
      now,
      (style, text) => `<${style}>${text}`,
    );
    expect(text).toContain(
      '<red>/v2 was stopped before it was retired: its clients get errors.  Start it again, or set',
    );
    expect(text).not.toContain('/v1 was stopped');
  });

  it('does not suggest to retire a version that is not deprecated', () => {
    const [health, failing_since] = ['failing', '2026-11-21T11:59:00.000Z'] as const;
    const down = {
      ...v2,
      unreachable: true,
      targets: [{ ...target, health, failing_since, reachable: false, last_error: 'refused' }],
    };
    const text = statusAsText(statusOf(v1, down), now, plain);
    expect(text).toContain('\nno target of /v2 can be reached: its clients get errors.\n');
    expect(text).toContain(
      'http://127.0.0.1:3002  failing since 2026-11-21T11:59:00.000Z, unreachable  0 in flight now  1 connection now  refused\n',
    );
    expect(text).not.toContain('retired: true');
  });

  it('reports that there is no version', () => expect(statusAsText(statusOf(), now, plain)).toContain('no versions'));
});

it.each([
  [-5000, 'just now'],
  [999, 'just now'],
  [1000, '1 s ago'],
  [59_999, '59 s ago'],
  [60_000, '1 min ago'],
  [3_599_999, '59 min ago'],
  [3_600_000, '1 h ago'],
  [86_400_000, '1 day ago'],
  [3 * 86_400_000, '3 days ago'],
])('%d ms are %s', (ms, words) => expect(ago(now - ms, now)).toBe(words));

describe('a real gateway', () => {
  it('is shown as text and as JSON', async () => {
    const url = await refusedUrl();
    const { url: gateway, adminPort } = await startTestGateway({ '/v1': url, '/v2': { retired: true } });
    expect((await fetch(`${gateway}/v1/x`)).status).toBe(502);
    const admin = `127.0.0.1:${adminPort}`;
    const text = await runIn('/', ['status', '--admin', admin]);
    expect([text.code, text.stderr]).toEqual([0, '']);
    expect(text.stdout).toMatch(/generation 1, loaded .+ at the start\n/);
    expect(text.stdout).toMatch(/\n {2}\/v1 +active .+\n {6}http:\/\/127\.0\.0\.77:\d+ /);
    const { code, stdout } = await runIn('/', ['status', '--admin', admin, '--format', 'json']);
    const direct = (await (await fetch(`http://${admin}/api/status`)).json()) as { gateway: object };
    const printed = JSON.parse(stdout);
    // The start of the failure is computed from a monotonic clock with each answer.
    const withoutTimes = (value: unknown) =>
      JSON.stringify(value).replaceAll(/"failing_since":"[^"]+"/g, '"failing_since":null');
    // The command names the address that it has used.
    const named = { ...direct, gateway: { ...direct.gateway, admin: `http://${admin}` } };
    expect([code, JSON.parse(withoutTimes(printed))]).toEqual([0, JSON.parse(withoutTimes(named))]);
  });
});

it.each([[], ['--wait', 'v1']])('JSON has no control characters, with %j', async (...args) => {
  const waivers = [{ client: 'x-client-id:\x9b2J\u202e', until: '2027-01-01T00:00:00Z', reason: '' } as const];
  const admin = await startFakeAdmin((_req, res) => res.end(JSON.stringify(statusOf({ ...v1, waivers }))));
  const { stdout } = await runIn('/', ['status', '--admin', admin, '--format', 'json', ...args]);
  expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(waivers));
  expect(stdout).not.toMatch(/[\x9b\u202e]/);
});

describe('--wait', () => {
  /** The status answers of a gateway, one after the other; the last one is repeated. */
  async function wait(args: string[], ...answers: VersionJson[][]) {
    let asked = 0;
    const admin = await startFakeAdmin((_req, res) => {
      const versions = answers[Math.min(asked++, answers.length - 1)] ?? [];
      res.end(JSON.stringify(statusOf(...versions)));
    });
    return await runIn('/', ['status', '--admin', admin, ...args]);
  }

  it.each([
    ['60', 'has no unit. Write 60s or 60ms.'],
    ['soon', 'is not a duration.'],
    ['0s', 'is too short.'],
    ['off', 'is not a duration.'],
    ['99d', 'is too long.'],
  ])('rejects --timeout %s', async (timeout, expected) => {
    const { code, stderr } = await wait(['--wait', 'v1', '--timeout', timeout], [v1]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(expected)]);
  });

  it('waits for the own backend of a version that an adapter serves', async () => {
    const adapter = { from: 'v2', mode: 'serve', failures: [] };
    const served = { ...v1, stage: 'deprecated', adapter, waiting: 0 };
    // The target of v2 is busy all the time.
    const ofV2 = { ...target, in_flight: 3 };
    const own = { ...target, health: 'removed', in_flight: 1 };
    expect(
      await wait(
        ['--wait', 'v1'],
        [{ ...served, targets: [ofV2, own] }],
        [{ ...served, targets: [ofV2], safe_to_stop: true }],
      ),
    ).toEqual({
      code: 0,
      stdout:
        '/v1 is served by an adapter from /v2, 0 requests in flight to its own backend, safe to stop the backend\n',
      stderr: '/v1: 1 request in flight to its own backend\n',
    });
    const { code } = await wait(['--wait', 'v1'], [{ ...served, adapter: { ...adapter, mode: 'shadow' } }]);
    expect(code).toBe(1);
  });

  it('does not know the answer for a version that an adapter serves if the gateway is in a fleet, and prints the version as JSON', async () => {
    const served = { ...v1, stage: 'deprecated', adapter: { from: 'v2', mode: 'serve', failures: [] } };
    const fleet = { problem: null, now: null, gateways: [] };
    const admin = await startFakeAdmin((_req, res) => res.end(JSON.stringify({ ...statusOf(served), fleet })));
    const args = ['status', '--admin', admin, '--wait', 'v1', '--format', 'json'];
    const { code, stdout, stderr } = await runIn('/', args);
    expect([code, JSON.parse(stdout)]).toEqual([3, served]);
    expect(stderr).toContain('Other gateways of the fleet may still use the backend of /v1.');
  });

  it('fails at once for an unknown version', async () => {
    expect(await wait(['--wait', '/v9'], [v1, v2])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'The gateway has no version /v9.  It has /v1, /v2.\n',
    });
  });

  it.each(['active', 'announced', 'deprecated', 'sunset'])('fails at once for a version that is %s', async (stage) => {
    const { code, stdout, stderr } = await wait(['--wait', '/v1'], [{ ...v1Safe, stage, safe_to_stop: false }]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(`/v1 is still served (${stage}).  Retire it first: set retired: true in routes.yaml.\n`);
  });

  it('fails for a version that is served again', async () => {
    const { code, stderr } = await wait(['--wait', '/v1'], [v1], [{ ...v1, stage: 'active' }]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('/v1: 3 requests in flight\n/v1 is still served')]);
  });

  it('fails after the timeout', async () => {
    const { code, stdout, stderr } = await wait(['--wait', '/v1', '--timeout', '300ms'], [v1]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe('/v1: 3 requests in flight\n/v1: still 3 requests in flight after 300ms\n');
  });

  it('exits 3 if it is not known at the end whether the version is safe to stop', async () => {
    const unknown = { ...v1Safe, safe_to_stop: false, known: false, blocked_by: ['gw-2 not heard for 41 s'] };
    const found = await wait(['--wait', '/v1', '--timeout', '300ms', '--format', 'json'], [unknown]);
    expect([found.code, JSON.parse(found.stdout)]).toEqual([3, unknown]);
    expect(found.stderr).toBe(
      '/v1: gw-2 not heard for 41 s\n/v1: not known whether it is safe to stop after 300ms: gw-2 not heard for 41 s\n',
    );
    const used = { ...unknown, known: true, blocked_by: ['gw-2 not heard for 41 s', 'gw-3 still serves it'] };
    expect((await wait(['--wait', '/v1', '--timeout', '1ms'], [used])).code).toBe(1);
    // A gateway that answers again makes it known.
    expect((await wait(['--wait', '/v1'], [unknown], [v1Safe])).code).toBe(0);
  });

  it('ends when the gateway stops', async () => {
    let asked = 0;
    const admin = await startFakeAdmin((req, res) => {
      if (asked++ === 0) res.end(JSON.stringify(statusOf(v1)));
      else req.socket.destroy();
    });
    const { code, stderr } = await runIn('/', ['status', '--admin', admin, '--wait', 'v1']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('does not answer')]);
  });

  it.each(['/v1', 'v1'])('%s: prints each change, and the result', async (name) => {
    const left = { ...v1, in_flight: 1, waiting: 0 };
    expect(await wait(['--wait', name], [v1], [v1], [left], [v1Safe])).toEqual({
      code: 0,
      stdout: '/v1: 0 requests in flight, safe to stop\n',
      stderr: '/v1: 3 requests in flight\n/v1: 1 request in flight\n',
    });
  });

  it('accepts a version that is no longer in the file', async () => {
    const { code } = await wait(['--wait', '/v1'], [{ ...v1Safe, stage: 'removed' }]);
    expect(code).toBe(0);
  });

  it.each([
    ['safe', v1Safe, 0, ''],
    ['served', v2, 1, '/v2 is still served'],
    ['out of time', v1, 1, '/v1: still 3 requests in flight'],
  ])('prints the version as JSON: %s', async (_what, version, expected, words) => {
    const args = ['--wait', version.version, '--format', 'json', '--timeout', '1ms'];
    const { code, stdout, stderr } = await wait(args, [version]);
    expect([code, JSON.parse(stdout)]).toEqual([expected, version]);
    expect(stderr).toContain(words);
  });
});
