import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { FleetLedger } from '../../../gateway/operate/fleet/ledger.ts';
import { tag } from '../../../gateway/usage/counting/identification.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import type { UsageBatch } from '../../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';
import { randomOf, row } from '../../usage/model.ts';
import { type Member, query, startMember, sumsIn, sumsOf } from './startMember.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const random = randomOf(13);

/** Requests of 20 clients to 10 routes of two versions, a moment ago. */
function batch(rows = 60): UsageBatch {
  const first = Date.now() - 1000;
  return Array.from({ length: rows }, () =>
    row({
      version: `v${1 + random(2)}`,
      client: `user-agent:c${random(20)}`,
      route: `GET /r${random(10)}`,
      requests: 1 + random(9),
      first,
    }),
  );
}

/** A database behind a proxy. */
async function storeBehindProxy() {
  const direct = await server.store();
  const proxy = await startTcpProxy(server.port);
  return { direct, proxy, store: direct.replace(`:${server.port}/`, `:${proxy.port}/`) };
}

const isEmpty = ({ ledger }: Member) => eventually(() => expect(ledger.outbox).toMatchObject({ oldest: undefined }));

it('brings every count into the store once, with lost replies and crashes of the database', async () => {
  const { direct, proxy, store } = await storeBehindProxy();
  proxy.dropReplies(5, 'version_gateway.write_batch_2(');
  const members = await Promise.all([startMember(store), startMember(store)]);
  const batches: UsageBatch[] = [];
  for (let round = 0; round < 12; round += 1) {
    for (const { ledger } of members) {
      const one = batch();
      batches.push(one);
      ledger.add(one);
    }
    await Promise.all(members.map(({ ledger }) => ledger.flush()));
    if (round === 4 || round === 8) {
      await server.crash();
      for (const { ledger } of members) {
        const one = batch();
        batches.push(one);
        ledger.add(one);
      }
      await server.start();
    }
    await Promise.all(members.map(isEmpty));
  }
  expect(proxy.dropped).toBeGreaterThan(3);
  expect(await sumsIn(direct)).toEqual(sumsOf(batches));
});

it('keeps counts while the store is away, and brings them when it is back', async () => {
  const { direct, proxy, store } = await storeBehindProxy();
  const member = await startMember(store);
  await isEmpty(member);
  proxy.cut();
  const batches = Array.from({ length: 50 }, () => batch());
  for (const one of batches) {
    member.ledger.add(one);
    await member.ledger.flush();
  }
  await eventually(() => expect(member.fleet.isStoreUp).toBe(false));
  const { rows = 0, since = 0, bytes = 0 } = member.fleet.outbox ?? {};
  // Waiting rows are added up: there are at most 2 × 20 × 10 of them besides the oldest batch.
  expect(rows).toBeLessThanOrEqual(400 + 60);
  expect(Math.abs(Date.now() - since)).toBeLessThan(60_000);
  expect(bytes).toBeGreaterThan(0);
  proxy.restore();
  await isEmpty(member);
  expect(await sumsIn(direct)).toEqual(sumsOf(batches));
  expect(member.notices).toHaveLength(2);
});

it('replaces characters that PostgreSQL cannot store, in a batch that is sent at once and in one that waits', async () => {
  const { direct, proxy, store } = await storeBehindProxy();
  const member = await startMember(store);
  await isEmpty(member);
  const odd = ['user-agent:a\0b', 'user-agent:a\ud800b'].map((client) => row({ client, first: Date.now() - 1000 }));
  const sent = odd.map((one) => ({ ...one, client: 'user-agent:a\ufffdb' }));
  member.ledger.add(odd);
  await eventually(async () => expect(await sumsIn(direct)).toEqual(sumsOf([sent])));
  proxy.cut();
  for (const one of [odd, odd]) {
    member.ledger.add(one);
    await member.ledger.flush();
  }
  proxy.restore();
  await isEmpty(member);
  expect(await sumsIn(direct)).toEqual(sumsOf([sent, sent, sent]));
});

it('continues after the store has accepted connections without an answer', async () => {
  const { direct, proxy, store } = await storeBehindProxy();
  const member = await startMember(store);
  await isEmpty(member);
  proxy.blackHole();
  const one = batch();
  member.ledger.add(one);
  await eventually(() => expect(member.fleet.storeProblem).toBeDefined());
  proxy.restore();
  await isEmpty(member);
  expect(await sumsIn(direct)).toEqual(sumsOf([one]));
});

it('starts in time although the store does not answer', async () => {
  const { proxy, store } = await storeBehindProxy();
  proxy.blackHole();
  const since = performance.now();
  const member = await startMember(store);
  expect(member.fleet.isStoreUp).toBe(false);
  await member.stop();
  // Without limits, only the timeouts of TCP would end this, after minutes.
  expect(performance.now() - since).toBeLessThan(60_000);
});

it('sends what waits before it stops', async () => {
  const store = await server.store();
  const member = await startMember(store);
  const one = batch();
  member.ledger.add(one);
  await member.stop();
  expect(await sumsIn(store)).toEqual(sumsOf([one]));
});

it('has sent every count after a flush', async () => {
  const store = await server.store();
  const member = await startMember(store);
  await isEmpty(member);
  const batches: UsageBatch[] = [];
  // A flush waits for a second at most; a busy machine may need another one.
  await eventually(async () => {
    const one = batch();
    batches.push(one);
    member.ledger.add(one);
    await member.fleet.flush();
    expect(await sumsIn(store)).toEqual(sumsOf(batches));
  });
});

it('counts nothing twice after the ledger was restored from a backup', async () => {
  const { direct, proxy, store } = await storeBehindProxy();
  const member = await startMember(store);
  await isEmpty(member);
  proxy.cut();
  const batches = [batch(), batch(), batch()];
  for (const one of batches) {
    member.ledger.add(one);
    await member.ledger.flush();
  }
  const backup = join(temporaryFolder(), 'usage.db');
  const source = new DatabaseSync(member.usage, { readOnly: true });
  source.prepare('VACUUM INTO ?').run(`${backup}.copy`);
  source.close();
  const after = batch();
  member.ledger.add(after);
  await member.ledger.flush();
  proxy.restore();
  await isEmpty(member);
  await member.stop();
  copyFileSync(`${backup}.copy`, backup);
  const restored = await startMember(store, { usage: backup });
  const last = batch();
  restored.ledger.add(last);
  await restored.ledger.flush();
  await isEmpty(restored);
  expect(await sumsIn(direct)).toEqual(sumsOf([...batches, after, last]));
});

it('brings the losses of single versions, once and with their counts, and others keep their coverage', async () => {
  const { direct, proxy, store } = await storeBehindProxy();
  const member = await startMember(store);
  await isEmpty(member);
  const reader = new LedgerReader(await FleetLedger.open({ store: direct, passwordFile: undefined }));
  onTestFinished(() => reader.close());
  const coveredBefore = await reader.coverage('v2');
  expect(coveredBefore).toMatchObject({ since: expect.any(Number), losses: [] });
  // The losses of an outage wait with the counts, in a batch that later rows are added to.
  proxy.cut();
  member.ledger.add(batch());
  const at = Date.now();
  const loss = (version: string, from: number) => {
    return { version, from, until: from + 10, reason: 'Calls may be missing: a worker ended.' };
  };
  // The second loss of v1 began before the first one.
  for (const one of [loss('v1', at - 1_000), loss('v1', at - 2_000), loss('v3', at - 500)]) {
    member.fleet.onLosses([one]);
    member.ledger.addLosses([one], { process: 0, until: 1 });
  }
  await member.ledger.flush();
  expect(member.ledger.outbox?.losses).toHaveLength(3);
  proxy.restore();
  await isEmpty(member);
  expect(await reader.coverage('v2')).toEqual(coveredBefore);
  const reason = 'Calls may be missing: a worker ended (gateway gw-1).';
  // The gateway may have started less than a second ago.
  const sinceAtLeast = (end: number): number => Math.max(end, coveredBefore.since ?? 0);
  expect(await reader.coverage('v1')).toEqual({
    since: sinceAtLeast(at - 990),
    losses: [{ version: 'v1', from: at - 2_000, until: at - 990, reason }],
  });
  expect((await reader.coverage('v3')).losses).toEqual([{ version: 'v3', from: at - 500, until: at - 490, reason }]);
  expect((await reader.coverage()).since).toBe(sinceAtLeast(at - 490));
});

it('reports that the store has lost counts', async () => {
  const store = await server.store();
  const member = await startMember(store);
  member.ledger.add(batch());
  await member.fleet.flush();
  await query(store, 'DELETE FROM version_gateway.writers');
  member.ledger.add(batch());
  await eventually(() =>
    expect(member.notices).toEqual([expect.stringMatching(/has lost counts of this gateway.*Coverage restarts/)]),
  );
  expect(await query(store, `SELECT key FROM version_gateway.meta WHERE key = 'covered_from'`)).toHaveLength(1);
});

it('reports that the store does not accept a batch, and sends it again', async () => {
  const store = await server.store();
  const member = await startMember(store);
  await isEmpty(member);
  const rename = (from: string, to: string) => query(store, `ALTER FUNCTION version_gateway.${from} RENAME TO ${to}`);
  await rename('write_batch_2', 'moved');
  const one = batch();
  member.ledger.add(one);
  await eventually(() =>
    expect(member.notices).toEqual([
      expect.stringMatching(/does not accept the counts of this gateway: .*write_batch_2/),
    ]),
  );
  expect(member.fleet.isStoreUp).toBe(true);
  await rename('moved', 'write_batch_2');
  await isEmpty(member);
  expect(await sumsIn(store)).toEqual(sumsOf([one]));
  expect(member.notices.slice(1)).toEqual(['The shared store of the fleet accepts the counts of this gateway again.']);
});

it('counts one key on two gateways as one client, and keeps the salt of the fleet', async () => {
  const store = await server.store();
  const first = await startMember(store);
  const second = await startMember(store);
  expect(second.ledger.salt).toBe(first.ledger.salt);
  for (const { ledger } of [first, second]) {
    ledger.add([row({ client: `x-api-key:${tag(ledger.salt, 'secret')}` })]);
  }
  await Promise.all([first, second].map((one) => one.stop()));
  expect(Object.values(await sumsIn(store))).toEqual([2]);
  const again = await startMember(store.replace(/\/test.*/, '/missing'), { usage: second.usage });
  expect(again.ledger.salt).toBe(first.ledger.salt);
});

it('counts the first calls of two gateways that start at once on an empty store as those of one client', async () => {
  const store = await server.store();
  // As in a process that has just started, also on a slow machine.
  const begun = performance.now();
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now() - begun) / 100);
  onTestFinished(() => clock.mockRestore());
  const both = await Promise.all([startMember(store), startMember(store)]);
  for (const { ledger } of both) ledger.add([row({ client: `x-api-key:${tag(ledger.salt, 'secret')}` })]);
  await Promise.all(both.map((one) => one.stop()));
  expect(Object.keys(await sumsIn(store))).toEqual([expect.stringMatching(/^v1 x-api-key:#\w+ GET/)]);
});

it('counts tags from before the first contact as other clients', async () => {
  const { direct, proxy, store } = await storeBehindProxy();
  await (await startMember(direct)).stop();
  proxy.cut();
  const late = await startMember(store);
  late.ledger.add([
    row({ client: `x-api-key:${tag(late.ledger.salt, 'secret')}` }),
    row({ client: 'user-agent:curl' }),
  ]);
  await late.ledger.flush();
  proxy.restore();
  await isEmpty(late);
  expect(Object.keys(await sumsIn(direct)).sort()).toEqual([
    'v1 other clients GET /drinks/{id}',
    'v1 user-agent:curl GET /drinks/{id}',
  ]);
});

it('adds up what waits if it takes up too much space, and keeps the sums of each version', async () => {
  const { direct, proxy, store } = await storeBehindProxy();
  const member = await startMember(store, { spool: '64KiB' });
  await isEmpty(member);
  proxy.cut();
  const batches = Array.from({ length: 30 }, () => batch(300));
  for (const one of batches) member.ledger.add(one);
  await member.ledger.flush();
  expect(member.fleet.outbox?.folded).toBeGreaterThan(0);
  expect(member.fleet.spoolRatio).toBeLessThan(2);
  proxy.restore();
  await isEmpty(member);
  const requestsOf = (sums: Record<string, number>, version: string): number =>
    Object.entries(sums).reduce((total, [key, requests]) => total + (key.startsWith(version) ? requests : 0), 0);
  const [sums, expected] = [await sumsIn(direct), sumsOf(batches)];
  for (const version of ['v1', 'v2']) expect(requestsOf(sums, version)).toBe(requestsOf(expected, version));
  expect(member.notices.filter((line) => line.includes('are added up over all routes'))).toHaveLength(1);
});
