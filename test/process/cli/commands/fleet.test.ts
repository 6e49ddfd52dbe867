import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type FleetJson, fleetJson } from '../../../../gateway/operate/fleet/fleetJson.ts';
import { instancesOf, stopBlockers } from '../../../../gateway/operate/fleet/fleetView.ts';
import { Membership, markGone } from '../../../../gateway/operate/fleet/membership.ts';
import type { Sql } from '../../../../gateway/operate/fleet/postgres.ts';
import { schemaName } from '../../../../gateway/operate/fleet/schema.ts';
import { fleetAsText, fleetSummary } from '../../../../gateway/process/cli/output/fleetText.ts';
import { activeLoad, gatewayRow, gatewayState, identity } from '../../../operate/fleet/gatewayRow.ts';
import { refusedUrl, startTestGateway } from '../../../support/gateway.ts';
import { day, ledgerWith, row } from '../../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres, startStore } from '../../../support/postgres.ts';
import { startFakeAdmin } from '../fakeAdmin.ts';
import { runIn } from '../io.ts';

const now = Date.parse('2026-11-20T10:30:00Z');
const plain = (_style: string, text: string): string => text;

describe('without a fleet', () => {
  it.each([[['fleet']], [['fleet', 'forget', 'gw-1', '--reason', 'x']]])('%j explains what to set', async (args) => {
    const { adminPort } = await startTestGateway({ '/v1': 'http://127.0.0.1:1' });
    const { code, stderr } = await runIn('.', [...args, '--admin', `127.0.0.1:${adminPort}`]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      'answered 503.  This gateway is on its own. Set fleet.store in routes.yaml to run several gateways as one.\n',
    );
  });

  it.each([[['fleet']], [['fleet', 'forget', 'gw-1', '--reason', 'x']]])('%j needs a gateway', async (args) => {
    const admin = await startFakeAdmin((_req, res) => res.end('{"gateways": [1]}'));
    expect(await runIn('.', [...args, '--admin', admin])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not the admin listener of a version-gateway'),
    });
  });
});

describe('the command line', () => {
  it.each([
    [['fleet', 'forget', 'gw-1'], "required option '--reason <text>' not specified"],
    [['fleet', 'forget', 'gw-1', '--reason', ' '], '--reason must say why the gateway does not exist any more.'],
    [['fleet', 'forget', '--reason', 'x'], "missing required argument 'name'"],
    [['fleet', '--store', 'usage.db'], '--store must be a postgres:// URL.'],
    [['fleet', '--format', 'csv'], "'csv' is invalid"],
    [['fleet', 'import', 'usage.db'], 'Name the database of the fleet: --store postgres://…'],
    [['fleet', 'import', '--store', 'postgres://db/x'], "missing required argument 'file'"],
  ])('%j is refused', async (args, message) => {
    expect(await runIn('.', args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});

describe('fleet import', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('adds the counts of a ledger once', async () => {
    const { file } = ledgerWith([row('v1', 'user-agent:curl', now, { requests: 1200 })], now - 2 * day);
    const args = ['fleet', 'import', file, '--store', await server.database()];
    expect(await runIn('.', args)).toMatchObject({
      code: 0,
      stdout: '1,200 requests imported, from 2026-11-20 to 2026-11-20\n',
    });
    expect(await runIn('.', args)).toMatchObject({ code: 0, stdout: expect.stringMatching(/; nothing to do\n$/) });
    const { stdout } = await runIn('.', ['usage', 'v1', '--store', args.at(-1) ?? '', '--since', '400d']);
    expect(stdout).toMatch(/user-agent:curl +1,200/);
  });

  it('reports how many clients cannot be recognized by their tags', async () => {
    const store = await server.database();
    const files = ['x-api-key:#0011', 'x-api-key:#0022'].map((client) =>
      ledgerWith([row('v1', client, now)], now - day),
    );
    await runIn('.', ['fleet', 'import', files[0]?.file ?? '', '--store', store]);
    expect(await runIn('.', ['fleet', 'import', files[1]?.file ?? '', '--store', store])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        'Counted as other clients, because the fleet makes tags with another salt: 1 client with a tag',
      ),
    });
  });

  it('explains a store that a later release has changed', async () => {
    const { file } = ledgerWith([], now);
    const { store, sql, close } = await startStore();
    await sql.query(`UPDATE ${schemaName}.meta SET value = '99' WHERE key IN ('version', 'compatible')`);
    const { stderr } = await runIn('.', ['fleet', 'import', file, '--store', store]);
    await close();
    expect(stderr).toMatch(
      /cannot be used: a later release has changed it \(version 99, .*\)\. {2}Update version-gateway\.\n$/,
    );
  });

  it('explains a file that cannot be read, and a store that cannot be reached', async () => {
    const { file } = ledgerWith([], now);
    const store = (await refusedUrl()).replace('http:', 'postgres:');
    expect(await runIn('.', ['fleet', 'import', 'missing.db', '--store', store])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/missing\.db cannot be read: there is no such file\.\n$/),
    });
    expect(await runIn('.', ['fleet', 'import', file, '--store', store])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/The fleet's store cannot be used: connect ECONNREFUSED .*\.\n$/),
    });
  });
});

describe('fleet --store', () => {
  let server: PostgresServer;
  let store: string;
  let sql: Sql;
  beforeAll(async () => {
    const opened = await startStore();
    ({ server, store, sql } = opened);
    return opened.close;
  });
  afterEach(() => sql.query(`TRUNCATE ${schemaName}.gateways`));

  const silence = () => sql.query(`UPDATE ${schemaName}.gateways SET heard = heard - interval '1 hour'`);

  it('reports a server that does not answer, without the password', async () => {
    const { host } = new URL(await refusedUrl());
    const { code, stderr } = await runIn('.', ['fleet', '--store', `postgres://u:secret@${host}/db`]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^The fleet's store cannot be used: .*ECONNREFUSED/);
    expect(stderr).not.toContain('secret');
  });

  it('reports a database without a fleet', async () => {
    expect(await runIn('.', ['fleet', '--store', await server.database()])).toMatchObject({
      code: 2,
      stderr: "The fleet's store cannot be used: no gateway has used this database yet.\n",
    });
  });

  it('lists the gateways without asking one', async () => {
    await new Membership(sql, identity('gw-1')).writeHeartbeat(gatewayState());
    expect((await runIn('.', ['fleet', '--store', store])).stdout).toMatch(/gw-1 +heard +just now +1\.0\.0 +aaaa/);
  });

  it('forgets a silent gateway, and keeps the reason', async () => {
    const forget = (name: string) => runIn('.', ['fleet', 'forget', name, '--reason', 'sold', '--store', store]);
    await new Membership(sql, identity('gw-1')).writeHeartbeat(gatewayState());
    expect(await forget('gw-1')).toMatchObject({ code: 2, stderr: 'Gateway gw-1 is heard.  Stop it first.\n' });
    await silence();
    expect(await forget('gw-2')).toMatchObject({
      code: 2,
      stderr: 'The fleet has no gateway gw-2.  These gateways are silent: gw-1.\n',
    });
    expect(await forget('gw-1')).toMatchObject({ code: 0, stdout: 'gw-1 is marked as gone\n' });
    expect(await forget('gw-1')).toMatchObject({
      code: 2,
      stderr: 'Gateway gw-1 has already been marked as gone.\n',
    });
    expect((await runIn('.', ['fleet', '--store', store])).stdout).toContain('gw-1 is gone: sold');
  });

  it('uses the silent_after of each gateway', async () => {
    const silentAfters = { slow: 3_600_000, quick: 1_000, earlier: undefined };
    for (const [name, silentAfter] of Object.entries(silentAfters))
      await new Membership(sql, identity(name, { silentAfter })).writeHeartbeat(gatewayState());
    const passed = (seconds: number) =>
      sql.query(`UPDATE ${schemaName}.gateways SET heard = heard - interval '${seconds} seconds'`);
    const states = async () => {
      const { stdout } = await runIn('.', ['fleet', '--store', store, '--format', 'json']);
      const { gateways } = JSON.parse(stdout) as FleetJson;
      return Object.fromEntries(gateways.map(({ name, state }) => [name, state]));
    };
    await passed(5);
    expect(await states()).toEqual({ slow: 'heard', quick: 'silent', earlier: 'heard' });
    expect(await runIn('.', ['fleet', 'forget', 'quick', '--reason', 'sold', '--store', store])).toMatchObject({
      code: 0,
    });
    await passed(60);
    expect(await states()).toEqual({ slow: 'heard', quick: 'gone', earlier: 'silent' });
  });

  it('ignores the report of an earlier run, which an older release leaves in the row', async () => {
    const membership = new Membership(sql, identity('gw-1', { silentAfter: 3_600_000 }));
    await membership.writeHeartbeat(gatewayState());
    await sql.query(`UPDATE ${schemaName}.gateways SET epoch = epoch + 1, heard = heard - interval '1 minute'`);
    expect((await runIn('.', ['fleet', '--store', store])).stdout).toMatch(/gw-1 +silent/);
  });

  it('forgets the silent one of two gateways with one name', async () => {
    await new Membership(sql, identity('gw-1')).writeHeartbeat(gatewayState());
    await silence();
    await new Membership(sql, identity('gw-1')).writeHeartbeat(gatewayState());
    await runIn('.', ['fleet', 'forget', 'gw-1', '--reason', 'restarted', '--store', store]);
    expect((await runIn('.', ['fleet', '--store', store])).stdout).toMatch(/gw-1 +gone[^\n]*\n +gw-1 +heard/);
  });

  it('refuses to forget a gateway that has left', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(gatewayState());
    await membership.leave();
    const { stderr } = await runIn('.', ['fleet', 'forget', 'gw-1', '--reason', 'x', '--store', store]);
    expect(stderr).toBe('Gateway gw-1 has already left.\n');
    expect(await markGone(sql, (await membership.read()).rows, 'x')).toEqual([]);
  });
});

describe('the text', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  const rows = [
    gatewayRow('gw-1', now - 500, { config: '3f9a0b1c2d4e', versions: { v1: { ...activeLoad, in_flight: 1204 } } }),
    gatewayRow('gw-2', now - 1_500, {
      config: 'ffff0b1c2d4e',
      configSince: now - 240_000,
      skewMs: -7_000,
      ready: false,
      problem: '/v3 is removed, and no sunset was ever announced.',
    }),
    gatewayRow('gw-3', now - 41_000, { config: '3f9a0b1c2d4e', spooled: 12 }),
    gatewayRow('gw-4', now - 3_600_000, { config: '3f9a0b1c2d4e', leftAt: now - 3_600_000, problem: 'x' }),
    gatewayRow('gw-5', now - 7_200_000, { config: '3f9a0b1c2d4e', goneAt: now, goneReason: 'its \u001bmachine broke' }),
    gatewayRow('gw-6', now - 100, { config: '3f9a0b1c2d4e' }),
  ];
  const jsonOf = (changes: Partial<FleetJson> = {}): FleetJson => {
    const instances = instancesOf({ rows, unheardAddresses: ['10.0.0.9'] }, now, 10_000);
    return { ...fleetJson({ problem: undefined, now, instances }), ...changes };
  };

  it('is a table, with remarks about some gateways below it', () => {
    expect(
      fleetAsText(jsonOf(), plain),
    ).toBe(`  name      state   heard     release  configuration         in flight  spooled  clock
  gw-1      heard   just now  1.0.0    3f9a0b1c2d4e          1,204      0
  gw-2      heard   1 s ago   1.0.0    ffff0b1c2d4e differs  0          0        7 s behind
  gw-3      silent  41 s ago  1.0.0    3f9a0b1c2d4e          -          12
  gw-4      left    1 h ago   1.0.0    3f9a0b1c2d4e          -          0
  gw-5      gone    2 h ago   1.0.0    3f9a0b1c2d4e          -          0
  gw-6      heard   just now  1.0.0    3f9a0b1c2d4e          0          0
  10.0.0.9  silent  never                                    -          -

gw-2 is not ready
gw-2: /v3 is removed, and no sunset was ever announced.
gw-2 announces other versions, dates or successors than most gateways, for 4 min
gw-2: its clock is 7 s behind
gw-5 is gone: its \\x1bmachine broke
10.0.0.9 is in fleet.members, but no gateway was heard from this address
`);
  });

  it('colours the state, and not a name that contains the word', () => {
    const rows = [gatewayRow('silent-heard', now - 500)];
    const json = fleetJson({ problem: undefined, now, instances: instancesOf({ rows }, now, 10_000) });
    const [, line] = fleetAsText(json, (style, text) => `<${style}>${text}</>`).split('\n');
    expect(line).toMatch(/^ {2}silent-heard {2}<green>heard<\/> {2}just now/);
  });

  it('is the example of the documentation', () => {
    const config = '3f9a0b1c2d4e';
    const inFlight = (count: number) => ({ versions: { v1: { ...activeLoad, in_flight: count } } });
    const shown = [
      gatewayRow('gw-1', now - 500, { config, ...inFlight(12) }),
      gatewayRow('gw-2', now - 1_500, { config: 'ffff0b1c2d4e', skewMs: 7_000, ...inFlight(3) }),
      gatewayRow('gw-3', now - 41_000, { config }),
      gatewayRow('gw-4', now - 100, { config }),
    ];
    const instances = instancesOf({ rows: shown }, now, 10_000);
    const lines = fleetAsText(fleetJson({ problem: undefined, now, instances }), plain)
      .split('\n')
      .slice(0, 4);
    expect(readFileSync('docs/running.md', 'utf8')).toContain(`${lines.join('\n')}\n`);
    const blockers = [
      gatewayRow('gw-1', now, { versions: { v1: { ...activeLoad, stage: 'retired', idle_since: 1 } } }),
      gatewayRow('gw-2', now, { versions: { v1: activeLoad } }),
      gatewayRow('gw-3', now - 41_000),
    ];
    const view = { problem: undefined, instances: instancesOf({ rows: blockers }, now, 10_000) };
    expect(readFileSync('docs/running.md', 'utf8')).toContain(
      `\n/v1: ${stopBlockers(view, { version: 'v1', addresses: [], isAdapted: false })
        .map(({ text }) => text)
        .join(', ')}\n`,
    );
  });

  it('says that the states are old while the store does not answer', () => {
    const text = fleetAsText(jsonOf({ problem: 'connection refused' }), plain);
    expect(text).toMatch(
      /^the shared store does not answer: connection refused\n {2}the states are those of its last answer, 2026-11-21T12:00:00\.000Z\n\n {2}name/,
    );
    const never = fleetAsText({ problem: 'no answer yet', now: null, config_skew: 0, gateways: [] }, plain);
    expect(never).toBe('the shared store does not answer: no answer yet\n\n  no gateway was heard yet\n');
  });

  it('is one line in the status', () => {
    expect(fleetSummary(jsonOf())).toBe('fleet: 3 of 5 gateways are heard; gw-3 silent; 10.0.0.9 silent; gw-2 differs');
    expect(fleetSummary(jsonOf({ gateways: [], problem: 'connection refused' }))).toBe(
      'fleet: 0 of 0 gateways are heard; the store does not answer (connection refused)',
    );
    const gateways = [{ ...(jsonOf().gateways[0] as FleetJson['gateways'][number]), spooled: 10_000 }];
    expect(fleetSummary(jsonOf({ gateways, problem: 'connection refused' }))).toBe(
      'fleet: 1 of 1 gateways are heard; the store does not answer (connection refused), 10,000 rows of counts wait for it',
    );
  });
});
