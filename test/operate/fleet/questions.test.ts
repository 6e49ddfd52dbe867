import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { FleetView } from '../../../gateway/operate/fleet/fleetView.ts';
import { importLedger } from '../../../gateway/operate/fleet/importLedger.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { CountsQuestions } from '../../../gateway/operate/fleet/questions.ts';
import { UnsentCounts } from '../../../gateway/operate/fleet/unsent.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { quick, type ServingGateway, startFleetGateway, writeMountedRoutes } from './fleetGateway.ts';
import { startGatewayHere } from './gatewayHere.ts';
import { gatewayRow } from './gatewayRow.ts';
import { query } from './startMember.ts';

let server: PostgresServer;
const backend = createServer((_req, res) => res.end('ok'));
let upstream: string;
beforeAll(async () => {
  server = await startPostgres();
  await once(backend.listen(0, '127.0.0.1'), 'listening');
  upstream = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
});
afterAll(async () => {
  backend.closeAllConnections();
  backend.close();
  await server.stop();
});

/** A call makes the answer for its version no, so each test that shares its gateways has versions of its own. */
const versions = {
  counted: ['v1', 'v2', 'v3', 'v4', 'v5'],
  ignored: ['v6'],
  guarded: ['v11', 'v12', 'v13', 'v14', 'v15'],
  unsent: ['v16'],
  stopped: ['v17'],
} as const;
const settings = {
  // One call must make the answer no, however many calls of other versions there are.
  retire: { quiet: '1h', ignore_clients: ['probe'], max_share: '0%' },
  guard: { quiet: '1h' },
};
// So long that neither a silent gateway nor counts that wait are the reason for an answer.
const fleet = { ...quick, silent_after: '1h' };
// Longer than a busy machine needs to start a process.

/** Batches wait until the end of the test, heartbeats do not. */
async function lockBatches(store: string): Promise<Client> {
  const locked = new Client(store);
  await locked.connect();
  onTestFinished(() => locked.end());
  await locked.query('BEGIN');
  await locked.query('LOCK TABLE version_gateway.writers IN EXCLUSIVE MODE');
  return locked;
}

interface TwoOptions {
  readonly heartbeat?: string;
  readonly clockFile?: string;
  /** Default: they end after the test. */
  readonly end?: Pick<TestContext, 'onTestFinished'>;
}

/** Two gateways whose ledger covers two days without a call of the versions. The second one is a process with two workers. */
async function startTwo({ heartbeat = quick.heartbeat, clockFile, end }: TwoOptions = {}) {
  const store = await server.store();
  const { file, ledger } = ledgerWith([row('v9', 'user-agent:curl', Date.now())], Date.now() - 2 * day);
  ledger.close();
  const postgres = await Postgres.open({ store, passwordFile: undefined });
  await importLedger(postgres, file);
  await postgres.close();
  const ended = { upstream, deprecation: '2026-01-01', sunset: '2026-02-01' };
  const routes: Readonly<Record<string, string | object>> = {
    ...Object.fromEntries(
      Object.values(versions).flatMap((names) => names.map((name) => [`/${name}`, ended] as const)),
    ),
    '/v9': upstream,
  };
  const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' };
  const [one, two] = await Promise.all([
    startGatewayHere({ store, name: 'gw-1', routes, settings: { ...settings, gateway }, fleet }, end),
    startFleetGateway(
      {
        store,
        name: 'gw-2',
        routes,
        settings: { ...settings, gateway: { ...gateway, workers: 2 } },
        fleet: { ...fleet, heartbeat },
        ...(clockFile !== undefined && { clockFile }),
      },
      end,
    ),
  ]);
  await eventually(async () =>
    expect(await (await fetch(`http://${one.admin}/readyz`)).json()).toEqual({ ready: true }),
  );
  return { store, routes, one, two };
}

// A busy gateway may report a call as in flight after its client has the response.
const stillCalled = expect.stringMatching(/^(?:clients_left|in_flight)$/);

interface Answer {
  readonly answer: 'yes' | 'not yet' | 'no';
  readonly reasons: readonly { readonly code: string; readonly text: string }[];
  readonly notes: readonly { readonly code: string; readonly text: string }[];
}

async function verdictOf({ admin }: ServingGateway, version: string): Promise<Answer> {
  return (await (await fetch(`http://${admin}/api/versions/${version}/retirement`)).json()) as Answer;
}

async function call({ port }: ServingGateway, version: string, client = 'shop'): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/${version}/drinks`, { headers: { 'user-agent': client } });
  expect(response.status).toBe(200);
  await response.text();
}

describe('while two gateways run on', () => {
  const atEnd: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of atEnd.toReversed()) await end();
  });
  // Started by the test that runs first.
  let shared: ReturnType<typeof startTwo> | undefined;

  function sharedTwo(): ReturnType<typeof startTwo> {
    shared ??= startTwo({ end: { onTestFinished: (end) => void atEnd.push(end as () => unknown) } });
    return shared;
  }

  it('a call that ended at another gateway before the question makes the answer no', async () => {
    const { one, two } = await sharedTwo();
    for (const version of versions.counted) {
      await eventually(async () => expect(await verdictOf(one, version)).toMatchObject({ answer: 'yes' }));
      await call(two, version);
      const { answer, reasons } = await verdictOf(one, version);
      // On a machine that is too busy, the counts of the other gateway do not arrive in time.
      if (answer === 'not yet') expect(reasons).toMatchObject([{ code: 'calls_unsent' }]);
      else expect({ answer, reasons }).toMatchObject({ answer: 'no', reasons: [{ code: stillCalled }] });
      await eventually(async () => expect(await verdictOf(one, version)).toMatchObject({ answer: 'no' }));
    }
    // How old the answer is.
    const { notes } = await verdictOf(one, 'v1');
    expect(notes).toContainEqual({
      code: 'counted_up_to',
      text: expect.stringMatching(
        /^The other gateways have reported their calls up to \d+ m?s ago; later ones are not/,
      ),
    });
  });

  it('calls of ignored clients that never end do not prevent a yes', async () => {
    const { one, two } = await sharedTwo();
    const [version] = versions.ignored;
    let isOver = false;
    const calls = (async () => {
      while (!isOver) await call(two, version, 'probe');
    })();
    // A question may wait several seconds for its answer.
    await eventually(async () => expect(await verdictOf(one, version)).toMatchObject({ answer: 'yes' })).finally(() => {
      isOver = true;
    });
    await calls;
  });

  it('the guard knows a call that ended at another gateway before the edit', async () => {
    const { store, routes, one, two } = await sharedTwo();
    for (const version of versions.guarded) {
      const retired = { ...routes, [`/${version}`]: { ...Object(routes[`/${version}`]), retired: true } };
      writeMountedRoutes(one.folder, { store, name: 'gw-1', routes: retired, settings, fleet });
      await call(two, version);
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
      const outcome = await (await fetch(`http://${one.admin}/api/reload`, init)).json();
      expect(outcome).toMatchObject({
        kind: 'refused',
        refusals: [
          {
            message: expect.stringMatching(
              new RegExp(`^/${version} is retired, (?:and was last called|but its last call is not known)`),
            ),
          },
        ],
      });
      writeMountedRoutes(one.folder, { store, name: 'gw-1', routes, settings, fleet });
      await fetch(`http://${one.admin}/api/reload`, init);
    }
  });

  it('the answer is not yet while a gateway has a call that it cannot send', async () => {
    const { store, one, two } = await sharedTwo();
    const [version] = versions.unsent;
    await eventually(async () => expect(await verdictOf(one, version)).toMatchObject({ answer: 'yes' }));
    const locked = await lockBatches(store);
    await call(two, version);
    expect(await verdictOf(one, version)).toMatchObject({
      answer: 'not yet',
      reasons: [
        {
          code: 'calls_unsent',
          text: expect.stringMatching(new RegExp(`^Gateway gw-[12] may have had calls of /${version} in the`)),
        },
      ],
    });
    await locked.query('ROLLBACK');
    await eventually(async () => expect(await verdictOf(one, version)).toMatchObject({ answer: 'no' }));
  });

  it('the answer is not yet while a worker of another gateway does not answer', async () => {
    const { one, two } = await sharedTwo();
    const [version] = versions.stopped;
    await eventually(async () => expect(await verdictOf(one, version)).toMatchObject({ answer: 'yes' }));
    const { workers } = (await (await fetch(`http://${two.admin}/api/status`)).json()) as {
      workers: { pid: number }[];
    };
    const pid = workers[0]?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    // Its counts are in its memory. On a machine that is too busy, its gateway does not report in time that it hangs.
    const code = expect.stringMatching(/^(?:worker_unresponsive|calls_unsent)$/);
    expect(await verdictOf(one, version)).toMatchObject({ answer: 'not yet', reasons: [{ code }] });
    try {
      process.kill(pid, 'SIGCONT');
    } catch {
      // It was replaced in the meantime.
    }
    await eventually(async () => expect(await verdictOf(one, version)).toMatchObject({ answer: 'yes' }));
  });
});

it('the answer is not yet if a clock is set back while a gateway has a call that it cannot send', async () => {
  const clockFile = join(temporaryFolder(), 'clock');
  writeFileSync(clockFile, '0');
  const { store, one, two } = await startTwo({ clockFile });
  await eventually(async () => expect(await verdictOf(one, 'v1')).toMatchObject({ answer: 'yes' }));
  const locked = await lockBatches(store);
  await call(two, 'v1');
  // By this clock, the call is later than the question.
  writeFileSync(clockFile, '-4000');
  for (const gateway of [one, two])
    expect(await verdictOf(gateway, 'v1')).toMatchObject({ answer: 'not yet', reasons: [{ code: 'calls_unsent' }] });
  await locked.query('ROLLBACK');
  await eventually(async () => expect(await verdictOf(one, 'v1')).toMatchObject({ answer: 'no' }));
});

it('the answer is not yet after a ledger file was removed in which counts waited', async () => {
  const { store, one, two } = await startTwo();
  await eventually(async () => expect(await verdictOf(one, 'v1')).toMatchObject({ answer: 'yes' }));
  await lockBatches(store);
  await call(two, 'v1');
  const waiting = `SELECT 1 FROM version_gateway.gateways WHERE name = 'gw-2' AND spooled > 0`;
  await eventually(async () => expect((await query(store, waiting)).length).toBe(1));
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(two.folder, `usage.db${suffix}`), { force: true });
  await two.printed(/was open when it was removed or replaced/);
  // The first batch of the new file, which tells it, waits, too.
  for (const gateway of [one, two]) expect(await verdictOf(gateway, 'v1')).toMatchObject({ answer: 'not yet' });
});

it('with a heartbeat of ten minutes, a gateway answers a question, and the answer is not yet while it hangs', async () => {
  const { one, two } = await startTwo({ heartbeat: '10m' });
  await eventually(async () => expect(await verdictOf(one, 'v1')).toMatchObject({ answer: 'yes' }));
  await call(two, 'v1');
  two.child.kill('SIGSTOP');
  // Its last report is from before the call.
  const hanging = await verdictOf(one, 'v1');
  two.child.kill('SIGCONT');
  // The counts may have been sent before it hung.
  if (hanging.answer !== 'no')
    expect(hanging).toMatchObject({ answer: 'not yet', reasons: [{ code: 'calls_unsent' }] });
  await eventually(async () => expect(await verdictOf(one, 'v1')).toMatchObject({ answer: 'no' }));
});

describe('the questions of a gateway', () => {
  const now = 1_000_000_000;
  const { fleet: settings } = snapshotFrom({
    routes: { '/v1': 'http://127.0.0.1:1' },
    fleet: { store: 'postgres://x/y' },
  });
  const report = { versions: [], workers: [] };

  function questionsWith(view: FleetView, sendHeartbeat: () => Promise<boolean>, unsentCounts = new UnsentCounts()) {
    if (settings === undefined) throw new Error('the snapshot has no fleet');
    return new CountsQuestions({ settings, release: '1.0.0', view, unsentCounts, self: () => 'me', sendHeartbeat });
  }

  it('have different ids, also if they are asked at the same time', () => {
    const view = new FleetView(10_000, () => 0);
    view.update({ now, rows: [], unheardAddresses: [] });
    const questions = questionsWith(view, async () => true);
    const [first, second] = [questions.createQuestion(), questions.createQuestion()];
    expect([first.id, second.id]).toEqual([now, now + 1]);
    expect(questions.questionId).toBeUndefined();
  });

  it('stay in the row after the wait, so that the others still report their answers', async () => {
    const questions = questionsWith(new FleetView(10_000), async () => true);
    const [first, second] = [questions.createQuestion(), questions.createQuestion()];
    await questions.awaitCounts([], async () => report, second);
    await questions.awaitCounts([], async () => report, first);
    expect(questions.questionId).toBe(second.id);
  });

  it('are not answered by a read that began before them: a gateway may have started since', async () => {
    const view = new FleetView(10_000);
    const rows = { now, rows: [], unheardAddresses: [] };
    view.update(rows);
    const questions = questionsWith(view, async () => false);
    const question = questions.createQuestion();
    const missing = await questions.awaitCounts(['v1'], async () => report, question);
    expect(missing.get('v1')).toContain('did not tell in time which gateways run');
    view.update(rows);
    expect(questions.remarksOnUnsent('v1', { report, ...question })).toEqual([]);
  });

  it('count the calls of an earlier run from five seconds before their batch was written', () => {
    const unsentCounts = new UnsentCounts();
    unsentCounts.onOutbox({ epoch: 7, oldest: { epoch: 6, seq: 1 }, newest: { epoch: 6, seq: 1 }, since: now }, true);
    const view = new FleetView(10_000);
    const questions = questionsWith(view, async () => true, unsentCounts);
    expect(questions.countedCalls(report, now).all).toBe(now - 5_000);
  });

  it('are reported as read only in reports made after the reading, even if a heartbeat fails', async () => {
    const view = new FleetView(10_000);
    view.update({ now, rows: [gatewayRow('gw-2', now, { questionId: 5 })], unheardAddresses: [] });
    let beats = 0;
    const questions = questionsWith(view, async () => {
      beats += 1;
      throw new Error('the report has failed');
    });
    const before = Date.now() - 1;
    questions.onGatewayRowsRead(async () => {});
    await eventually(() => expect(beats).toBe(1));
    expect(questions.countedCalls(report, before).answers).toEqual({});
    const answers = { 'id-of-gw-2': { id: 5, at: expect.any(Number) } };
    expect(questions.countedCalls(report, Date.now() + 1).answers).toEqual(answers);
    // It is answered once.
    questions.onGatewayRowsRead(async () => {});
    view.update({ now, rows: [gatewayRow('gw-2', now)], unheardAddresses: [] });
    questions.onGatewayRowsRead(async () => {});
    expect(questions.countedCalls(report, Date.now() + 1).answers).toEqual({});
    expect(beats).toBe(1);
  });
});
