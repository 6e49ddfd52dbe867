// node bench/fleetWriters.ts [SECONDS] [CHECKOUT]: how many batches per second the shared store of a fleet adds, from one
// gateway and from eight, with 2,000 pairs of client and route in each batch. CHECKOUT: the folder of another checkout to compare
// with. All are measured in turns in the same run, so compare the ratios. In the first part all gateways have the same clients, as
// behind a load balancer, in the second part each has its own. A round ends when all its batches are added to the sums. It
// prints the CPU time of PostgreSQL and the write-ahead log per row, where its sessions waited, and whether all sums are exact.
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as PostgresModule from '../gateway/operate/fleet/postgres.ts';
import type * as QueueModule from '../gateway/operate/fleet/queuedBatches.ts';
import type * as SchemaModule from '../gateway/operate/fleet/schema.ts';
import type * as ShipperModule from '../gateway/operate/fleet/shipper.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { type Batch, randomBatch } from './support/batches.ts';
import { cpuSecondsWithEnded } from './support/proc.ts';

const [seconds = '12', otherCheckout] = process.argv.slice(2);
const [most, rounds, differentBatches] = [8, 4, 48];
// On a busy machine, a gateway may wait long for the others.
const queryTimeoutMs = 600_000;
// After this pause, the store takes the next gateway that writes for the only one.
const aloneAfterMs = 1_500;

interface Figures {
  batches: number;
  rows: number;
  ms: number;
  cpu: number;
  wal: number;
  transactions: number;
  readonly waits: Map<string, number>;
}

/** The code of a checkout that writes to the store. */
interface Code {
  readonly name: string;
  readonly postgres: typeof PostgresModule;
  readonly schema: typeof SchemaModule;
  readonly shipper: typeof ShipperModule;
  /** Undefined: this checkout has no queue. */
  readonly queue: typeof QueueModule | undefined;
}

async function codeOf(name: string, folder: string): Promise<Code> {
  const load = <Module>(file: string): Promise<Module> => import(`${folder}/gateway/operate/fleet/${file}.ts`);
  return {
    name,
    postgres: await load('postgres'),
    schema: await load('schema'),
    shipper: await load('shipper'),
    queue: await load<typeof QueueModule>('queuedBatches').catch(() => undefined),
  };
}

async function measure(hasSameClients: boolean): Promise<void> {
  // Made before the measurement, because it takes about as long as to write them.
  const batches = Array.from({ length: most }, (_one, number) =>
    Array.from({ length: differentBatches }, () => randomBatch(hasSameClients ? 0 : number)),
  );
  const stores: Store[] = [];
  for (const code of codes) stores.push(await Store.create(code, batches));
  for (let round = 0; round < rounds; round += 1)
    for (const store of stores) for (const count of store.figures.keys()) await store.measureRound(count);

  console.log(hasSameClients ? 'All gateways have the same clients:' : 'Each gateway has its own clients:');
  const base = rateOf(stores[0]?.figures.get(1));
  for (const store of stores) {
    console.log(`  ${store.name}`);
    for (const [count, figures] of store.figures)
      console.log(`    ${count} of ${most} write: ${inWords(figures, base)}`);
    console.log(`    ratio ${(rateOf(store.figures.get(most)) / rateOf(store.figures.get(1))).toFixed(2)}`);
    console.log(`    all ${await store.countExactly()} requests are counted exactly`);
    await store.close();
  }
}

/** Batches per second. */
function rateOf(figures: Figures | undefined): number {
  return figures === undefined ? 0 : (figures.batches / figures.ms) * 1000;
}

function inWords(figures: Figures, base: number): string {
  const { batches, rows, ms, cpu, wal, transactions, waits } = figures;
  const samples = [...waits.values()].reduce((sum, one) => sum + one, 0);
  const top = [...waits].sort(([, a], [, b]) => b - a).slice(0, 4);
  return [
    `${rateOf(figures).toFixed(1)} batches/s (× ${(rateOf(figures) / base).toFixed(2)}), ${((rows / ms) * 1000).toFixed(0)} rows/s`,
    `${(rows / cpu).toFixed(0)} rows per CPU second of PostgreSQL, ${(wal / rows).toFixed(0)} bytes of WAL per row`,
    `${(batches / transactions).toFixed(1)} batches per transaction`,
    `sessions: ${top.map(([name, count]) => `${name} ${((count / samples) * 100).toFixed(0)} %`).join(', ')}`,
  ].join('; ');
}

interface Writer {
  readonly number: number;
  readonly instance: string;
  readonly sql: PostgresModule.Postgres;
  readonly adder: QueueModule.QueuedBatchAdder | undefined;
  seq: number;
}

/** A store, and the gateways that write to it. */
class Store {
  /** By the number of gateways that write. */
  readonly figures = new Map([1, most].map((count): [number, Figures] => [count, emptyFigures()]));
  readonly #code: Code;
  readonly #batches: readonly (readonly Batch[])[];
  readonly #watcher: PostgresModule.Postgres;
  readonly #writers: readonly Writer[];
  #requests = 0;

  private constructor(
    code: Code,
    batches: readonly (readonly Batch[])[],
    watcher: PostgresModule.Postgres,
    writers: readonly Writer[],
  ) {
    this.#code = code;
    this.#batches = batches;
    this.#watcher = watcher;
    this.#writers = writers;
  }

  static async create(code: Code, batches: readonly (readonly Batch[])[]): Promise<Store> {
    const settings = { store: await server.database(), passwordFile: undefined };
    const { Postgres } = code.postgres;
    const watcher = await Postgres.open(settings, { queryTimeoutMs });
    await code.schema.migrate(watcher);
    await watcher.query(`ALTER ROLE gateway SET track_functions = 'pl'`);
    const writers: Writer[] = [];
    for (let number = 0; number < most; number += 1) {
      const sql = await Postgres.open(settings, { connections: 1, queryTimeoutMs });
      const adder = code.queue && new code.queue.QueuedBatchAdder(settings, sql);
      writers.push({ number, instance: randomUUID(), seq: 0, sql, adder });
    }
    const store = new Store(code, batches, watcher, writers);
    // Creates the partitions and the names.
    for (let count = 0; count < 3; count += 1) for (const writer of writers) await store.#write(writer);
    return store;
  }

  get name(): string {
    return this.#code.name;
  }

  async measureRound(count: number): Promise<void> {
    const figures = this.figures.get(count) ?? emptyFigures();
    await this.#addAll();
    await sleep(aloneAfterMs);
    const [cpu, wal, transactions] = [cpuSecondsWithEnded(server.pid), await this.#wal(), await this.#transactions()];
    const stop = new AbortController();
    // If the store ends, the writers fail, too, and their error is reported.
    const sampling = this.#sampleWaits(figures.waits, stop.signal).catch(() => {});
    const start = performance.now();
    try {
      await this.#writeUntil(start + (Number(seconds) * 1000) / rounds, count, figures);
      await this.#addAll();
    } finally {
      stop.abort();
      await sampling;
    }
    figures.ms += performance.now() - start;
    figures.cpu += cpuSecondsWithEnded(server.pid) - cpu;
    figures.wal += (await this.#wal()) - wal;
    figures.transactions += (await this.#transactions()) - transactions;
  }

  async #writeUntil(end: number, count: number, figures: Figures): Promise<void> {
    await Promise.all(
      this.#writers.slice(0, count).map(async (writer) => {
        while (performance.now() < end) {
          const { rows } = await this.#write(writer);
          figures.rows += rows;
          figures.batches += 1;
        }
      }),
    );
  }

  /** Fails if a sum is wrong. @returns the sum of all requests */
  async countExactly(): Promise<number> {
    for (const table of ['version_hour', 'client_day', 'pair_hour', 'pair_day', 'version_day_instance']) {
      const [row] = await this.#watcher.query<{ sum: number }>(
        `SELECT SUM(requests) AS sum FROM version_gateway.${table}`,
      );
      if (row?.sum !== this.#requests) throw new Error(`${table} has ${row?.sum} of ${this.#requests} requests`);
    }
    return this.#requests;
  }

  async close(): Promise<void> {
    for (const { sql, adder } of this.#writers) {
      adder?.stop();
      await sql.close();
    }
    await this.#watcher.close();
  }

  async #addAll(): Promise<void> {
    await this.#code.queue?.addAllQueued(this.#watcher);
  }

  async #write(writer: Writer): Promise<Batch> {
    writer.seq += 1;
    const { number, instance, seq, sql, adder } = writer;
    const now = Date.now();
    const batch = this.#batches[number]?.[seq % differentBatches] as Batch;
    const run = { instance, epoch: 1, seq, began: now, seen: now, restarted: undefined, salt: 'salt' };
    await this.#code.shipper.writeBatch(sql, { ...run, rows: batch.text }, adder);
    this.#requests += batch.requests;
    return batch;
  }

  /** Counts what the sessions of the store wait for, until the signal. `CPU`: a session that runs or waits for a core. */
  async #sampleWaits(waits: Map<string, number>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const rows = await this.#watcher.query<{ event: string | null }>(
        `SELECT wait_event_type || ':' || wait_event AS event FROM pg_stat_activity
          WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()`,
      );
      for (const { event } of rows) waits.set(event ?? 'CPU', (waits.get(event ?? 'CPU') ?? 0) + 1);
      await sleep(20);
    }
  }

  async #wal(): Promise<number> {
    const [row] = await this.#watcher.query<{ bytes: number }>("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes");
    return Number(row?.bytes);
  }

  /** How many transactions have added batches. Their sessions report it at their end, and at most once a second. */
  async #transactions(): Promise<number> {
    await sleep(1_200);
    const [row] = await this.#watcher.query<{ calls: number }>(
      `SELECT SUM(calls) AS calls FROM pg_stat_user_functions WHERE funcname IN ('add_batches', 'add_rows')`,
    );
    return row?.calls ?? 0;
  }
}

function emptyFigures(): Figures {
  return { batches: 0, rows: 0, ms: 0, cpu: 0, wal: 0, transactions: 0, waits: new Map() };
}

const codes = [await codeOf('this checkout', resolve(import.meta.dirname, '..'))];
if (otherCheckout !== undefined) codes.unshift(await codeOf(otherCheckout, resolve(otherCheckout)));
const server = await startPostgres();
try {
  for (const hasSameClients of [true, false]) await measure(hasSameClients);
} finally {
  await server.stop();
}
