import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { ThreadedLedgerClient } from '../../../gateway/operate/admin/reading/threadedClient.ts';
import { parseUsageQuery } from '../../../gateway/operate/admin/usageQueryParams.ts';
import { FleetLedger } from '../../../gateway/operate/fleet/ledger.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { versionUsage } from '../../../gateway/process/runtime/reload.ts';
import { noLiveFacts } from '../../../gateway/usage/evidence/callEvidence.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { runIn } from '../../process/cli/io.ts';
import { eventually } from '../../support/eventually.ts';
import { copyTo, instance, tablesIn } from '../../support/fleetLedger.ts';
import { day, hour, ledgerWith, row } from '../../support/ledgerWith.ts';
import { idleState } from '../../support/liveState.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { coveredSince } from '../../support/readLedger.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';

const now = Date.now();
const rows = [
  row('v1', 'x-client-id:ios', now - 2 * day, { requests: 5, errors: 1 }),
  row('v1', 'user-agent:curl', now, { requests: 3 }),
  row('v2', 'x-client-id:ios', now - day, { requests: 2 }),
];

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

/** A store with these requests, all of the gateway gw-1. */
async function filled(): Promise<{ store: string; postgres: Postgres }> {
  const store = await server.store();
  const postgres = await Postgres.open({ store, passwordFile: undefined });
  onTestFinished(() => postgres.close());
  await copyTo(postgres, tablesIn(ledgerWith(rows, now - 10 * day).file));
  return { store, postgres };
}

async function readerOf(store: string, timeoutMs?: number): Promise<LedgerReader> {
  const reader = new LedgerReader(await FleetLedger.open({ store, passwordFile: undefined }, timeoutMs));
  onTestFinished(() => reader.close());
  return reader;
}

/** Passes connections on to the server until `freeze`. Then it accepts bytes and passes none on. */
async function freezable(store: string) {
  let isFrozen = false;
  const proxy = createServer((client) => {
    const upstream = connect(server.port, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (bytes) => isFrozen || to.write(bytes)).on('error', () => {});
      from.on('close', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const freeze = (): void => {
    isFrozen = true;
  };
  return { store: store.replace(/:\d+\//, `:${port}/`), freeze };
}

describe('a snapshot', () => {
  it('does not see what is written meanwhile', async () => {
    const { store, postgres } = await filled();
    const reader = await readerOf(store);
    await reader.readConsistently(async () => {
      expect(await reader.totals(0)).toMatchObject([{ requests: 8 }, { requests: 2 }]);
      await postgres.query('UPDATE version_gateway.version_day SET requests = requests + 100');
      await postgres.query('UPDATE version_gateway.version_block SET requests = requests + 100');
      expect(await reader.totals(0)).toMatchObject([{ requests: 8 }, { requests: 2 }]);
    });
    expect((await reader.totals(0))[0]?.requests).toBeGreaterThan(100);
    expect(reader.problem).toBeUndefined();
  });

  it('cannot write', async () => {
    const { store } = await filled();
    const ledger = await FleetLedger.open({ store, passwordFile: undefined });
    await expect(ledger.all('DELETE FROM runs', [])).rejects.toThrow('read-only transaction');
    await ledger.close();
  });
});

describe('coverage', () => {
  it.each([
    [
      'overlapping runs',
      [
        [10, 4],
        [6, 2],
        [3, 0],
      ],
      undefined,
      10,
    ],
    [
      'a short run within a long one',
      [
        [10, 0],
        [9, 8],
        [5, 4],
      ],
      undefined,
      10,
    ],
    [
      'a day without any gateway',
      [
        [10, 6],
        [5, 0],
      ],
      undefined,
      5,
    ],
    [
      'two gateways with the same gap',
      [
        [10, 6],
        [9, 6],
        [5, 0],
        [4, 1],
      ],
      undefined,
      5,
    ],
    ['a restart of coverage', [[10, 0]], 3, 3],
  ] as const)('with %s', async (_name, runs, restarted, expected) => {
    const { store, postgres } = await filled();
    await postgres.query('DELETE FROM version_gateway.runs');
    for (const [index, [began, seen]] of runs.entries()) {
      const id = instance.replace(/1$/, String(index));
      await postgres.query('INSERT INTO version_gateway.runs VALUES ($1, 1, $2, $3)', [
        id,
        now - began * day,
        now - seen * day,
      ]);
    }
    if (restarted !== undefined)
      await postgres.query("INSERT INTO version_gateway.meta VALUES ('covered_from', $1)", [
        String(now - restarted * day),
      ]);
    expect(await coveredSince(await readerOf(store))).toBe(now - expected * day);
  });
});

describe('a store that fails', () => {
  it('is a problem while it is down, and answers again afterwards', async () => {
    const { store } = await filled();
    const reader = await readerOf(store);
    await server.crash();
    expect(await reader.readConsistently(() => reader.totals(0))).toEqual([]);
    expect(reader.problem).toMatch(/^The fleet's store cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:\d+\.$/);
    await server.start();
    reader.problem = undefined;
    expect(await reader.readConsistently(() => reader.totals(0))).toHaveLength(2);
    expect(reader.problem).toBeUndefined();
  });

  it('is a problem if its connection is lost between two statements', async () => {
    const { store } = await filled();
    const reader = await readerOf(store);
    const [before, again, after] = await reader.readConsistently(async () => {
      const before = await reader.totals(0);
      await server.crash();
      await server.start();
      // A repeated statement is not sent again.
      return [before, await reader.totals(0), await reader.byRoute('v1', 0)];
    });
    expect([before?.length, again, after]).toEqual([2, before, []]);
    expect(reader.problem).toMatch(/^The fleet's store cannot be re(?:ached|ad): /);
    expect(await reader.readConsistently(() => reader.totals(0))).toHaveLength(2);
  });

  it('is a problem if a statement takes too long', async () => {
    const { store, postgres } = await filled();
    const reader = await readerOf(store, 1_000);
    await postgres.transaction(async (sql) => {
      await sql.query('LOCK TABLE version_gateway.version_day');
      expect(await reader.readConsistently(() => reader.series('day', 0))).toEqual([]);
    });
    expect(reader.problem).toBe("The fleet's store cannot be read: canceling statement due to statement timeout.");
  });

  it('is a problem if it does not answer', async () => {
    const { store, freeze } = await freezable((await filled()).store);
    const reader = await readerOf(store, 500);
    const rows = await reader.readConsistently(async () => {
      await reader.totals(0);
      freeze();
      // The second one fails at once.
      return [...(await reader.series('day', 0)), ...(await reader.series('day', 0))];
    });
    expect([rows, reader.problem]).toEqual([[], "The fleet's store cannot be reached: it did not answer in time."]);
  });

  it('is a problem if it is not the store of a fleet', async () => {
    const store = await server.database();
    const reader = await readerOf(store);
    expect([await reader.readConsistently(() => reader.totals(0)), reader.problem]).toEqual([
      [],
      "The fleet's store cannot be read: it has no ledger.  Start a gateway of this release with it as fleet.store.",
    ]);
  });

  it('is a problem if a later release has changed it', async () => {
    const { store, postgres } = await filled();
    await postgres.query("UPDATE version_gateway.meta SET value = '99' WHERE key IN ('version', 'compatible')");
    const reader = await readerOf(store);
    expect(await reader.readConsistently(() => reader.totals(0))).toEqual([]);
    expect(reader.problem).toMatch(
      /^The fleet's store cannot be read: a later release has changed it \(version 99, this release knows \d\)\. {2}Update version-gateway\.$/,
    );
  });
});

describe('the reading thread of a gateway of a fleet', () => {
  it('answers from the store, and with a problem while it is down', async () => {
    const { store } = await filled();
    const upstream = 'http://127.0.0.1:3001';
    const snapshot = snapshotFrom({ routes: { '/v1': upstream, '/v2': upstream }, fleet: { store } });
    const { ledger } = ledgerWith([row('v1', 'x-client-id:local', now - hour)], now - day);
    const client = new ThreadedLedgerClient(ledger, snapshot.fleet);
    onTestFinished(() => client.close());
    // No heartbeat has failed yet, so the guard learns from its own query that the store does not answer.
    const onTheWay = { code: 'calls_unsent', text: 'Calls are on their way.' };
    const fleet = {
      facts: (version: string) => {
        const remarksOnUnsent = version === 'v2' ? [onTheWay] : [];
        return { heard: 1, inFlight: 0, waiting: 0, gaps: [], notes: [], remarksOnUnsent };
      },
      createCountsQuestion: () => ({ id: now, at: now }),
      awaitCounts: async () => new Map(),
    };
    const serving = { flush: async () => true, report: async () => ({ versions: [], workers: [] }) };
    const use = () => versionUsage(snapshot, { ...serving, ledger: client, fleet }, client, now);
    const report = async (query: Record<string, string>) => {
      const answer = await client.query('usage', snapshot, {
        ...parseUsageQuery(query, now),
        live: noLiveFacts,
      });
      return 'body' in answer ? JSON.parse(new TextDecoder().decode(answer.body)) : answer;
    };
    expect((await report({ version: 'v1' })).rows.map((one: { client: string }) => one.client)).toEqual([
      'x-client-id:ios',
      'user-agent:curl',
    ]);
    expect(await report({ instance: 'gw-1' })).toMatchObject({
      instance: 'gw-1',
      rows: [{ requests: 8 }, { requests: 2 }],
    });
    expect(await report({ instance: 'gw-9' })).toEqual({
      problem: 'BAD_REQUEST',
      detail: '`instance`: the fleet has no gateway of this name. It has gw-1.',
    });
    const known = await use();
    expect(known.calls('v1')).toMatchObject({ called: 'yes', lastCall: now, pending: [] });
    expect(known.calls('v2')?.pending.map(({ text }) => text)).toEqual(['Calls are on their way.']);
    await server.crash();
    const lost = (await use()).calls('v1');
    expect(lost?.called).toBe('not known');
    expect(lost?.missing[0]?.text).toMatch(/The fleet's store cannot be reached: .+\.$/);
    expect(await report({ instance: 'gw-1' })).toMatchObject({
      problem: expect.stringContaining('ECONNREFUSED'),
      rows: [],
    });
    await server.start();
    expect(await report({})).toMatchObject({ problem: null, rows: [{ requests: 8 }, { requests: 2 }] });
  });

  it('answers a verdict and the reload guard while a report waits for the store', async () => {
    const { store, postgres } = await filled();
    const upstream = 'http://127.0.0.1:3001';
    const snapshot = snapshotFrom({ routes: { '/v1': upstream, '/v2': upstream }, fleet: { store } });
    const { ledger } = ledgerWith([], now - day);
    const client = new ThreadedLedgerClient(ledger, snapshot.fleet);
    onTestFinished(() => client.close());
    const query = { ...parseUsageQuery({ instance: 'gw-1' }, now), live: noLiveFacts } as const;
    const done: string[] = [];
    const report = await postgres.transaction(async (sql) => {
      // Only reports about one gateway read this table.
      await sql.query('LOCK TABLE version_gateway.version_day_instance');
      const pending = client.query('usage', snapshot, query).then(() => done.push('report'));
      await eventually(async () =>
        expect(
          await postgres.query(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          ),
        ).toHaveLength(1),
      );
      const guard = { now, quiet: new Map([['v1', day]]), live: idleState.facts, newFreezes: [], newAdapters: [] };
      expect((await client.query('recentUse', snapshot, guard)).problem).toBeUndefined();
      done.push('guard');
      const verdict = await client.query('retirement', snapshot, { version: 'v1', quiet: day, state: idleState, now });
      expect(verdict).toHaveProperty('body');
      done.push('verdict');
      return { pending };
    });
    await report.pending;
    expect(done).toEqual(['guard', 'verdict', 'report']);
  });
});

describe('version-gateway usage --store postgres://…', () => {
  it('prints the usage of the whole fleet or of one gateway', async () => {
    const { store, postgres } = await filled();
    const whole = await runIn('/', ['usage', '--store', store, '--by', 'day', '--format', 'csv']);
    expect([
      whole.code,
      whole.stdout
        .split('\r\n')
        .slice(1)
        .map((line) => line.replace(/,.*,/, ' ')),
    ]).toEqual([0, ['v1 5', 'v2 2', 'v1 3', '']]);
    await postgres.query(
      `UPDATE version_gateway.version_day_instance SET instance = gen_random_uuid() WHERE requests = 5`,
    );
    const one = await runIn('/', ['usage', '--store', store, '--instance', 'gw-1']);
    expect([
      one.code,
      one.stdout
        .replace(/Z|·|█|▄/g, '')
        .split('\n')
        .slice(1),
    ]).toEqual([
      0,
      [
        expect.stringContaining('The ledger starts only 10 days ago; the counts'),
        // The rows of the gateway are those of an earlier release.
        expect.stringContaining('Gateway gw-1 has an earlier release, which does not report fleet.start'),
        expect.stringContaining('Gateway gw-1 (release 1.0.0) does not report the counts that it has not sent'),
        '',
        '  version  requests  errors  clients  last call  by day',
        expect.stringMatching(/^ {2}\/v1 {6}3 {9}0 {7}- {8}- {10}/),
        expect.stringMatching(/^ {2}\/v2 {6}2 {9}0 {7}- {8}- {10}/),
        '',
      ],
    ]);
    expect(one.stdout).toMatch(/^usage on gateway gw-1 in the last 30 days, since /);
  });

  it.each([
    [
      ['v1', '--by', 'client', '--instance', 'gw-1'],
      'counts by client and by route are kept for the whole fleet only.',
    ],
    [['--instance', 'gw-9'], 'the fleet has no gateway of this name. It has gw-1.'],
  ])('refuses %j', async (args, error) => {
    const { store } = await filled();
    const { code, stderr: err } = await runIn('/', ['usage', ...args, '--store', store]);
    expect([code, err]).toEqual([2, expect.stringContaining(`--instance: ${error}`)]);
  });

  it('refuses one gateway in a ledger file', async () => {
    const { file } = ledgerWith(rows, now - 10 * day);
    const { code, stderr: err } = await runIn('/', ['usage', '--instance', 'gw-1', '--store', file]);
    expect([code, err]).toEqual([2, expect.stringContaining('--instance: the ledger is not that of a fleet.')]);
  });

  it.each([
    [
      'postgres://gateway:hunter2@127.0.0.1:1/x',
      "The fleet's store cannot be reached: connect ECONNREFUSED 127.0.0.1:1.",
    ],
    ['postgres://gateway:hunter2@[::1/x', "The fleet's store cannot be reached: Invalid URL."],
  ])('explains why %s cannot be read, without the password', async (store, error) => {
    const { code, stderr: err, stdout: out } = await runIn('/', ['usage', '--store', store]);
    expect([code, out, err]).toEqual([2, '', expect.stringContaining(error)]);
    expect(err).not.toContain('hunter2');
  });
});

it('ends a transaction over a connection on which nothing arrives any more, and reads again over a new one', async () => {
  const { store } = await filled();
  const link = await startTcpProxy(server.port);
  const url = new URL(store);
  url.port = String(link.port);
  const ledger = await FleetLedger.open({ store: url.href, passwordFile: undefined }, 1_000);
  onTestFinished(() => ledger.close());
  const count = () => ledger.all('SELECT 1 AS one', []);
  await ledger.begin();
  expect(await count()).toEqual([{ one: 1 }]);
  link.blackHole();
  await ledger.end();
  link.restore();
  expect(await count()).toEqual([{ one: 1 }]);
});
