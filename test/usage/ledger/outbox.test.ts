import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { otherClients, otherRoute, type UsageRow } from '../../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { copyLedger } from '../../support/ledgerCopy.ts';
import { addUp, dayMs, hourMs, noon, randomBatch, randomOf, row, total } from '../model.ts';
import { openLedger } from './ledgerFixture.ts';

const spool = 1024 ** 2;

interface SentBatch {
  readonly epoch: number;
  readonly seq: number;
  readonly began: number;
  readonly seen: number;
  readonly restarted: number | null;
  readonly salt: string;
  readonly losses: string | null;
  readonly rows: UsageRow[];
}

/** The batch that the shipper would send now. */
function oldestIn(store: string): SentBatch | undefined {
  const database = new DatabaseSync(store, { readOnly: true });
  const found = database.prepare('SELECT * FROM outbox WHERE rows IS NOT NULL ORDER BY epoch, seq LIMIT 1').get();
  database.close();
  return found && ({ ...found, rows: JSON.parse(String(found['rows'])) } as SentBatch);
}

/** Takes batches out of the ledger, as the shipper does. */
function send(ledger: Ledger, store: string, count = Number.POSITIVE_INFINITY): SentBatch[] {
  const sent: SentBatch[] = [];
  while (sent.length < count) {
    const batch = oldestIn(store);
    if (batch === undefined) break;
    sent.push(batch);
    ledger.removeSent(batch.epoch, batch.seq);
  }
  return sent;
}

const rowsOf = (sent: readonly SentBatch[]): UsageRow[] => sent.flatMap(({ rows }) => rows);
const byEverything = ({ hour, version, client, route }: UsageRow): string => `${hour} ${version} ${client} ${route}`;

/** `hour version`, requests and errors, without the numbers of clients and routes. */
function requestsByVersion(rows: readonly UsageRow[]) {
  const sums = addUp(rows, ({ hour, version }) => `${hour} ${version}`);
  return new Map([...sums].map(([key, { clients: _clients, routes: _routes, ...counts }]) => [key, counts]));
}

it('keeps nothing without a fleet', () => {
  const { ledger, store } = openLedger();
  ledger.add([row()]);
  expect(ledger.outbox).toBeUndefined();
  expect(oldestIn(store)).toBeUndefined();
});

it('first tells the store that the gateway runs, then keeps each batch until it is removed', () => {
  const { ledger, store, clock } = openLedger({ spool });
  const { epoch } = ledger.outbox ?? {};
  expect(oldestIn(store)).toMatchObject({ epoch, seq: 1, began: noon, seen: noon, restarted: null, rows: [] });
  expect(ledger.outbox).toMatchObject({ oldest: { epoch, seq: 1 }, rows: 0, since: noon });
  clock.time += 5000;
  ledger.add([row({ client: 'a' }), row({ client: 'b' })]);
  expect(ledger.outbox).toMatchObject({ oldest: { epoch, seq: 1 }, rows: 2 });
  const [first, second, ...others] = send(ledger, store);
  expect([first?.rows, others]).toEqual([[], []]);
  expect(second).toMatchObject({ seq: 2, began: noon, seen: noon + 5000, salt: ledger.salt });
  expect(second?.rows).toMatchObject([row({ client: 'a' }), row({ client: 'b' })]);
  expect(ledger.outbox).toMatchObject({ oldest: undefined, rows: 0, bytes: 0, since: undefined });
});

it('tells the store of the previous run, which may have had calls that it had not passed on for five seconds', () => {
  const { ledger, store, clock } = openLedger({ spool });
  const { epoch } = ledger.outbox ?? {};
  expect(ledger.outbox?.previous).toBeUndefined();
  clock.time += 61_000;
  ledger.add([]);
  ledger.close();
  const { ledger: next } = openLedger({ store, spool }, noon + 62_000);
  expect(next.outbox?.previous).toEqual({ epoch, closed: true, until: noon + 56_000 });
});

it('tells the store that the previous run was killed, and which batch it had', () => {
  const { ledger, store, clock } = openLedger({ spool });
  const { epoch = 0 } = ledger.outbox ?? {};
  expect(ledger.outbox?.acknowledged).toBeUndefined();
  send(ledger, store);
  clock.time += 61_000;
  ledger.add([]);
  // As after kill -9.
  const killed = join(temporaryFolder(), 'usage.db');
  copyLedger(store, killed);
  const { ledger: next } = openLedger({ store: killed, spool }, noon + 62_000);
  expect(next.outbox?.previous).toEqual({ epoch, closed: false, until: noon + 56_000 });
  expect(next.outbox?.acknowledged).toEqual({ epoch, seq: 1 });
});

it('tells the store at a heartbeat without requests that the gateway still runs', () => {
  const { ledger, store, clock } = openLedger({ spool });
  send(ledger, store);
  clock.time += 61_000;
  ledger.add([]);
  expect(send(ledger, store)).toMatchObject([{ seq: 2, began: noon, seen: noon + 61_000, rows: [] }]);
});

it('adds up what waits by hour, except in the oldest batch', () => {
  const { ledger, store, clock } = openLedger({ spool });
  const random = randomOf(7);
  const batches = Array.from({ length: 40 }, () => randomBatch(random, 60, 2 * hourMs));
  for (const batch of batches) {
    ledger.add(batch);
    clock.time += 5000;
  }
  const oldest = oldestIn(store);
  // 3 versions, 12 clients, 6 routes and at most 3 hours.
  expect(ledger.outbox?.rows).toBeLessThanOrEqual(3 * 12 * 6 * 3);
  const sent = send(ledger, store);
  expect(sent[0]).toEqual(oldest);
  expect(sent.map(({ seq }) => seq)).toEqual(sent.map((_one, index) => index + 1));
  expect(sent.at(-1)?.seen).toBe(clock.time - 5000);
  expect(addUp(rowsOf(sent), byEverything)).toEqual(addUp(batches.flat(), byEverything));
});

it('keeps what brownouts refused apart, also after it was added up', () => {
  const { ledger, store } = openLedger({ spool: 1 });
  const rows = [
    row({}),
    row({ brownout: noon }),
    row({ brownout: noon, route: 'GET /b' }),
    row({ brownout: noon + 1 }),
  ];
  ledger.add(rows);
  ledger.add(rows);
  const sums = Map.groupBy(rowsOf(send(ledger, store)), ({ brownout = 0 }) => brownout);
  expect([...sums].map(([brownout, own]) => [brownout, total(own, 'requests')])).toEqual([
    [0, 2],
    [noon, 4],
    [noon + 1, 2],
  ]);
});

it('keeps waiting counts over a reload, whose settings do not have the spool', () => {
  const { ledger, store } = openLedger({ spool });
  ledger.configure({ store: 'elsewhere.db', retention: 30 * dayMs });
  ledger.add([row()]);
  expect(rowsOf(send(ledger, store))).toMatchObject([row()]);
});

it('keeps what one batch tells about losses and a restart while more is added to it, and tells it once', () => {
  const store = join(temporaryFolder(), 'usage.db');
  const clock = { time: noon, now: () => clock.time, monotonic: () => clock.time };
  const ledger = Ledger.open({ store, retention: 400 * dayMs, spool }, { clock });
  onTestFinished(() => ledger.close());
  const lossAt = (at: number) => ({ version: 'v1', from: at, until: at, reason: `lost at ${at}` });
  ledger.addLosses([lossAt(noon)]);
  clock.time += 2 * hourMs;
  const restarted = clock.time;
  ledger.add([row({ client: 'a' })]);
  clock.time += 1_000;
  ledger.addLosses([lossAt(noon + 1)]);
  // More rows than fit into one batch.
  ledger.add(Array.from({ length: 6_000 }, (_one, n) => row({ client: `client-${n}` })));
  expect(ledger.outbox?.losses).toEqual([lossAt(noon), lossAt(noon + 1)]);
  const sent = send(ledger, store);
  expect(sent.filter((one) => one.restarted !== null)).toMatchObject([{ restarted, losses: expect.any(String) }]);
  const told = sent.flatMap(({ losses }) => (losses === null ? [] : JSON.parse(losses)));
  expect(told).toEqual([lossAt(noon), lossAt(noon + 1)]);
});

it('removes only a batch that can have been sent', () => {
  const { ledger, store, clock } = openLedger({ spool });
  clock.time += 5_000;
  ledger.add([row()]);
  const { epoch = 0 } = ledger.outbox ?? {};
  ledger.removeSent(epoch, 2);
  expect(rowsOf(send(ledger, store))).toMatchObject([row()]);
});

it('divides many rows among batches of a few thousand', () => {
  const { ledger, store } = openLedger({ spool: 1024 ** 3 });
  const many = Array.from({ length: 9_000 }, (_one, index) => row({ client: `c${index}` }));
  ledger.add(many);
  ledger.add(many);
  const sent = send(ledger, store);
  expect(Math.max(...sent.map(({ rows }) => rows.length))).toBeLessThanOrEqual(4_000);
  expect(addUp(rowsOf(sent), byEverything)).toEqual(addUp([...many, ...many], byEverything));
});

it('gives the next run a larger number, also if the clock was set back', () => {
  const { ledger, store } = openLedger({ spool });
  ledger.add([row()]);
  ledger.close();
  const { ledger: later } = openLedger({ store, spool }, noon - 1000);
  later.add([row({ requests: 5 })]);
  const [earlier, last] = [ledger, later].map(({ outbox }) => outbox);
  expect(last?.instance).toBe(earlier?.instance);
  expect(last?.epoch).toBeGreaterThan(earlier?.epoch ?? 0);
  const sent = send(later, store);
  expect(sent.map(({ epoch, seq, rows }) => [epoch, seq, rows.length])).toEqual([
    [earlier?.epoch, 1, 0],
    [earlier?.epoch, 2, 1],
    [last?.epoch, 1, 1],
  ]);
});

it('gives two copies of a ledger that start at the same time different numbers', () => {
  const { ledger, store } = openLedger({ spool });
  ledger.close();
  const copy = `${store}.copy`;
  copyFileSync(store, copy);
  // With a clock that was set back, only the file determines the next number.
  const epochs = [store, copy].map((file) => openLedger({ store: file, spool }, noon - 1000).ledger.outbox?.epoch);
  expect(new Set(epochs).size).toBe(2);
});

it('after a backup is restored, sends the same counts again only with the same numbers', () => {
  const { ledger, store, clock } = openLedger({ spool });
  ledger.add([row({ client: 'a' })]);
  ledger.add([row({ client: 'b' })]);
  const backup = `${store}.backup`;
  const source = new DatabaseSync(store);
  source.prepare('VACUUM INTO ?').run(backup);
  source.close();
  ledger.add([row({ client: 'a' }), row({ client: 'c' })]);
  const known = new Set(send(ledger, store).map(({ epoch, seq }) => `${epoch} ${seq}`));
  ledger.close();
  for (const suffix of ['-wal', '-shm']) rmSync(store + suffix, { force: true });
  copyFileSync(backup, store);
  const { ledger: restored } = openLedger({ store, spool }, clock.time + 60_000);
  restored.add([row({ client: 'd' })]);
  const sent = send(restored, store).filter(({ epoch, seq }) => !known.has(`${epoch} ${seq}`));
  expect(rowsOf(sent).map(({ client, requests }) => `${client} ${requests}`)).toEqual(['d 1']);
});

it('keeps the id of the gateway if the file has to be replaced, and tells the store that coverage restarts', () => {
  const { ledger, store, clock } = openLedger({ spool });
  const { instance } = ledger.outbox ?? {};
  send(ledger, store);
  rmSync(store);
  clock.time += 5000;
  ledger.add([row()]);
  expect(ledger.outbox).toMatchObject({ instance });
  expect(send(ledger, store)).toMatchObject([{ seq: 1, began: noon + 5000, restarted: noon + 5000, rows: [row()] }]);
});

it('restarts coverage once if the gateway has counted without the fleet meanwhile', () => {
  const { ledger, store, clock } = openLedger({ spool });
  ledger.add([row()]);
  ledger.close();
  const later = (options: { spool?: number }) => {
    clock.time += 5000;
    return openLedger({ store, ...options }, clock.time).ledger;
  };
  const restarts = (one: Ledger) => send(one, store).flatMap(({ restarted }) => restarted ?? []);
  later({}).close();
  const idle = later({ spool });
  expect(restarts(idle)).toEqual([]);
  idle.close();

  const alone = later({});
  alone.add([row()]);
  alone.close();
  const back = later({ spool });
  expect(restarts(back)).toEqual([clock.time]);
  expect(back.lastIncident?.text).toMatch(/without the fleet.*Coverage restarts/);
  back.close();
  expect(restarts(later({ spool }))).toEqual([]);
});

it('marks rows with the salt of their tags', () => {
  const { ledger, store } = openLedger({ spool });
  const { salt } = ledger;
  ledger.add([row({ client: 'key:#01' })]);
  ledger.adoptSalt('of the fleet');
  ledger.add([row({ client: 'key:#02' })]);
  expect(ledger.salt).toBe('of the fleet');
  const sent = send(ledger, store).filter(({ rows }) => rows.length > 0);
  expect(sent.map(({ salt: own, rows }) => [own, rows.map(({ client }) => client)])).toEqual([
    [salt, ['key:#01']],
    ['of the fleet', ['key:#02']],
  ]);
  ledger.close();
  expect(openLedger({ store }).ledger.salt).toBe('of the fleet');
});

it('adds up routes and then clients if too much waits, and keeps the sums', () => {
  const { ledger, store, clock } = openLedger({ spool: 20_000 });
  const batches = Array.from({ length: 20 }, (_none, index) =>
    ['v1', 'v2'].flatMap((version) =>
      Array.from({ length: 40 }, (_one, client) =>
        row({
          version,
          client: `c${client}`,
          route: `GET /r${(index + client) % 9}`,
          first: noon - dayMs + index * hourMs,
        }),
      ),
    ),
  );
  const before = oldestIn(store);
  for (const batch of batches) {
    ledger.add(batch);
    clock.time += 5000;
    expect(ledger.outbox?.bytes).toBeLessThan(20_000 + 20_000);
  }
  expect(oldestIn(store)).toEqual(before);
  expect(ledger.outbox?.folded).toBeGreaterThan(0);
  const sent = rowsOf(send(ledger, store));
  expect(requestsByVersion(sent)).toEqual(requestsByVersion(batches.flat()));
  expect(new Set(sent.map(({ route }) => route))).toContain(otherRoute);
  expect(sent.filter(({ client }) => client === otherClients).every(({ route }) => route === otherRoute)).toBe(true);
  // The latest hour fits as it is.
  const latest = sent.filter(({ hour }) => hour === Math.max(...sent.map((one) => one.hour)));
  expect(latest.filter(({ client }) => client !== otherClients)).toHaveLength(80);
});
