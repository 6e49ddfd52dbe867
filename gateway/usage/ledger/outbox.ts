import { randomInt, randomUUID } from 'node:crypto';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Loss } from '../evidence/coverage.ts';
import { otherClients, otherRoute, type UsageBatch } from '../usageRow.ts';
import { sizeColumns } from './schema.ts';

// Counts that wait for the shared store of a fleet, in the file of the ledger. They wait in numbered batches. The oldest batch
// is closed: its rows are one JSON text, and it never changes, because the store may be receiving it. A batch that is added while
// nothing waits is closed from the start. The rows of all other batches are in the table `outbox_rows`. A new row is added to the
// newest batch. But if the table has a row of the same run, hour, version, client, route and brownout, the counts of the new row
// are added to this older row, which stays in its batch. The store knows the numbers of the batches that it has. So it adds no
// counts twice, even if the ledger is restored from a backup.

// A batch of this many rows takes the store some tens of milliseconds.
const maxRowsPerBatch = 2_000;
/** What a row takes up besides its names, in the table and its index, bytes. */
const bytesPerRow = 100;

// A process passes on its counts this often. The file may lack the counts of the last such period.
const passOnMs = 5_000;

/** What waits for the shared store. */
export interface OutboxState {
  /** The random id of this ledger in the fleet. */
  readonly instance: string;
  /** The number of this run: about epoch µs, larger than that of every earlier run. */
  readonly epoch: number;
  /** The oldest batch; undefined: nothing waits. */
  readonly oldest: BatchNumber | undefined;
  /** The newest batch; it may still take rows. */
  readonly newest: OutboxState['oldest'];
  /** The number of rows. A batch without rows only records that the gateway ran. */
  readonly rows: number;
  /** When the oldest batch began to wait, epoch ms. */
  readonly since: number | undefined;
  /** Bytes on the disk, estimated. */
  readonly bytes: number;
  /** Requests that were counted without their route or client since the start, because too much waits. */
  readonly folded: number;
  /** The last batch that the store has confirmed, also one of an earlier run. Undefined: none is known. */
  readonly acknowledged: BatchNumber | undefined;
  /** The run before this one; undefined: there was none. */
  readonly previous: PreviousRun | undefined;
  /** Calls that may be missing, and that the store does not know of yet. */
  readonly losses: readonly Loss[];
}

/** `epoch`: the number of the run. `seq`: the number of the batch in this run. */
export interface BatchNumber {
  readonly epoch: number;
  readonly seq: number;
}

/** How an earlier run ended, as the file has it. */
export interface PreviousRun {
  readonly epoch: number;
  /** Everything that it counted is in this file. Also true for a run of an earlier release, which did not record how it ended. */
  readonly closed: boolean;
  /** The calls that ended before this are in this file, epoch ms. */
  readonly until: number;
}

/** The run of a gateway when a batch is added. From `began` to `seen`, it ran and counted requests. Epoch ms. */
export interface RunTimes {
  readonly began: number;
  readonly seen: number;
  /** When coverage restarted; undefined if it continues. */
  readonly restarted: number | undefined;
  /** Calls that may be missing in the ledger, and that the store does not know of yet. */
  readonly losses: readonly Loss[];
}

const addedColumns = ['requests', 'errors', 'served', 'failing', 'refused'] as const;
const largestColumns = ['last', 'used', 'accepted', ...sizeColumns] as const;
const countColumns = [...addedColumns, 'first', ...largestColumns] as const;
const columns = ['version', 'client', 'route', 'hour', 'brownout', ...countColumns];
const addUp = `${addedColumns.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')},
  first = MIN(first, excluded.first), ${largestColumns.map((column) => `${column} = MAX(${column}, excluded.${column})`).join(', ')}`;
const sumColumns = [
  ...addedColumns.map((column) => `SUM(${column})`),
  'MIN(first)',
  ...largestColumns.map((column) => `MAX(${column})`),
].join(', ');
const sizeOfBatch = `SELECT COUNT(*), COALESCE(SUM(2 * (LENGTH(version) + LENGTH(client) + LENGTH(route)) + ${bytesPerRow}), 0)
  FROM outbox_rows AS r WHERE r.epoch = b.epoch AND r.seq = b.seq`;

/** The outbox in an open ledger. All methods run within the caller's transaction. Throws the errors of SQLite. */
export class Outbox {
  readonly instance: string;
  readonly epoch: number;
  readonly #database: DatabaseSync;
  readonly #addRow: StatementSync;
  readonly #previous: PreviousRun | undefined;
  #acknowledged: BatchNumber | undefined;
  #folded = 0;

  /** Begins a run. `instance`: the id of this gateway, if the file has none. */
  constructor(database: DatabaseSync, now: number, instance: string = randomUUID()) {
    this.#database = database;
    const meta = (key: string): unknown => this.#get('SELECT value FROM meta WHERE key = ?', key)?.['value'];
    this.instance = String(meta('instance') ?? instance);
    // A clock that was set back must not lead to an earlier epoch again. Two copies of a ledger that start at the same time must
    // get different epochs, because the store could not tell their batches apart.
    this.epoch = Math.max(now * 1_000, Number(meta('epoch') ?? 0)) + randomInt(1, 1_000_000);
    this.#previous = this.#previousRun(Number(meta('epoch') ?? 0), Number(meta('open') ?? 0));
    const [epoch, seq] = String(meta('acknowledged') ?? '')
      .split(' ')
      .map(Number);
    this.#acknowledged = epoch && seq ? { epoch, seq } : undefined;
    const values = [this.instance, this.epoch, this.epoch];
    this.#run(`INSERT OR REPLACE INTO meta VALUES ('instance', ?), ('epoch', ?), ('open', ?), ('seq', 0)`, ...values);
    this.#addRow = database.prepare(`INSERT INTO outbox_rows (epoch, seq, ${columns.join(', ')})
      VALUES (?, ?, ${columns.map(() => '?').join(', ')}) ON CONFLICT DO UPDATE SET ${addUp}`);
  }

  /** Adds rows. Without rows, the store learns that the gateway ran. `spool`: the bytes that may wait. */
  append(batch: UsageBatch, run: RunTimes, salt: string, spool: number): void {
    let remainingRows = batch;
    // The store learns of a loss with the first of the batches, because counts without it look complete.
    let runOfBatch = run;
    do {
      const rows = remainingRows.slice(0, maxRowsPerBatch);
      // A closed batch is the usual case while the store answers. To add a row to the table takes several times as long.
      if (this.#get('SELECT 1 FROM outbox LIMIT 1') === undefined) this.#addClosed(rows, runOfBatch, salt);
      else this.#addOpen(rows, runOfBatch, salt);
      remainingRows = remainingRows.slice(maxRowsPerBatch);
      runOfBatch = { ...run, losses: [] };
    } while (remainingRows.length > 0);
    this.#closeOldest();
    while (this.#bytes() > spool && this.#fold());
  }

  /** Removes the oldest batch after the store has it. */
  remove(epoch: number, seq: number): void {
    this.#run('DELETE FROM outbox WHERE epoch = ? AND seq = ? AND rows IS NOT NULL', epoch, seq);
    this.#closeOldest();
    this.#run(`INSERT OR REPLACE INTO meta VALUES ('acknowledged', ?)`, `${epoch} ${seq}`);
    this.#acknowledged = { epoch, seq };
  }

  /** Records that the run has ended, and that everything that it counted is in the file. */
  close(): void {
    this.#run(`DELETE FROM meta WHERE key = 'open'`);
  }

  state(): OutboxState {
    const { instance, epoch } = this;
    const [oldest] = this.#database.prepare('SELECT epoch, seq, since FROM outbox ORDER BY epoch, seq LIMIT 1').all();
    const newest = this.#get('SELECT epoch, seq FROM outbox ORDER BY epoch DESC, seq DESC LIMIT 1');
    const { rows, bytes } = this.#get('SELECT SUM(size) AS rows, SUM(bytes) AS bytes FROM outbox') ?? {};
    return {
      instance,
      epoch,
      oldest: oldest && { epoch: Number(oldest['epoch']), seq: Number(oldest['seq']) },
      newest: newest && { epoch: Number(newest['epoch']), seq: Number(newest['seq']) },
      rows: Number(rows ?? 0),
      since: oldest && Number(oldest['since']),
      bytes: Number(bytes ?? 0),
      folded: this.#folded,
      acknowledged: this.#acknowledged,
      previous: this.#previous,
      losses: this.#database
        .prepare('SELECT losses FROM outbox WHERE losses IS NOT NULL')
        .all()
        .flatMap(({ losses }) => lossesIn(losses)),
    };
  }

  /** `open`: the number of the run that has not recorded its end, or 0. */
  #previousRun(epoch: number, open: number): PreviousRun | undefined {
    if (epoch === 0) return undefined;
    const seen = Number(this.#get('SELECT MAX(seen) AS seen FROM runs')?.['seen'] ?? 0);
    return { epoch, closed: open !== epoch, until: Math.max(0, seen - passOnMs) };
  }

  /** Adds a batch that can be sent at once. */
  #addClosed(rows: UsageBatch, { began, seen, restarted, losses }: RunTimes, salt: string): void {
    const json = JSON.stringify(
      rows.map((row) => ({
        ...row,
        version: storable(row.version),
        client: storable(row.client),
        route: storable(row.route),
        brownout: row.brownout ?? 0,
      })),
    );
    this.#run(
      `INSERT INTO outbox (epoch, seq, began, seen, restarted, losses, salt, since, size, bytes, rows)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[this.epoch, this.#nextSeq(), began, seen, restarted ?? null, lossesText(losses)],
      ...[salt, seen, rows.length, json.length, json],
    );
  }

  /** Adds rows to the newest batch, or to a new batch if the newest is closed, full or under another salt. */
  #addOpen(rows: UsageBatch, run: RunTimes, salt: string): void {
    const seq = this.#openBatch(run, salt);
    for (const row of rows) {
      const names = [row.version, row.client, row.route].map(storable);
      const counts = countColumns.map((column) => row[column]);
      this.#addRow.run(this.epoch, seq, ...names, row.hour, row.brownout ?? 0, ...counts);
    }
    this.#measure(this.epoch, seq, seq);
  }

  #nextSeq(): number {
    return Number(this.#get(`UPDATE meta SET value = value + 1 WHERE key = 'seq' RETURNING value`)?.['value']);
  }

  /** The batch that takes new rows, and that records the run up to now. @returns its number */
  #openBatch({ began, seen, restarted, losses }: RunTimes, salt: string): number {
    const newest = this.#get(
      `SELECT seq, size, salt, losses, rows IS NULL AS open FROM outbox WHERE epoch = ? ORDER BY seq DESC LIMIT 1`,
      this.epoch,
    );
    if (newest?.['open'] === 1 && Number(newest['size']) < maxRowsPerBatch && newest['salt'] === salt) {
      const seq = Number(newest['seq']);
      this.#run(
        `UPDATE outbox SET began = ?, seen = ?, restarted = COALESCE(?, restarted), losses = ? WHERE epoch = ? AND seq = ?`,
        ...[began, seen, restarted ?? null, lossesText([...lossesIn(newest['losses']), ...losses]), this.epoch, seq],
      );
      return seq;
    }
    const newSeq = this.#nextSeq();
    this.#run(
      'INSERT INTO outbox (epoch, seq, began, seen, restarted, losses, salt, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      ...[this.epoch, newSeq, began, seen, restarted ?? null, lossesText(losses), salt, seen],
    );
    return newSeq;
  }

  /** Closes the oldest batch, so that it can be sent. */
  #closeOldest(): void {
    const oldest = this.#get('SELECT epoch, seq, rows IS NULL AS open FROM outbox ORDER BY epoch, seq LIMIT 1');
    if (oldest?.['open'] !== 1) return;
    const batchKey = [Number(oldest['epoch']), Number(oldest['seq'])];
    const jsonObject = `json_object(${columns.map((column) => `'${column}', ${column}`).join(', ')})`;
    this.#run(
      `UPDATE outbox AS b SET rows = (SELECT json_group_array(${jsonObject}) FROM outbox_rows AS r
        WHERE r.epoch = b.epoch AND r.seq = b.seq) WHERE epoch = ? AND seq = ?`,
      ...batchKey,
    );
    this.#run('DELETE FROM outbox_rows WHERE epoch = ? AND seq = ?', ...batchKey);
  }

  #bytes(): number {
    return Number(this.#get('SELECT SUM(bytes) AS bytes FROM outbox')?.['bytes'] ?? 0);
  }

  /**
   * Adds up the rows of the oldest hour that still has named routes: one row is left for each client. If no hour has named
   * routes, adds up the rows of the oldest hour that still has named clients: one row is left for each version.
   * @returns false if no hour has named clients
   */
  #fold(): boolean {
    const oldestHourWith = (column: string): string =>
      `SELECT epoch, hour FROM outbox_rows WHERE ${column} <> ? ORDER BY epoch, hour LIMIT 1`;
    const hourWithRoutes = this.#get(oldestHourWith('route'), otherRoute);
    const oldestHour = hourWithRoutes ?? this.#get(oldestHourWith('client'), otherClients);
    if (oldestHour === undefined) return false;
    const where = 'WHERE epoch = ? AND hour = ?';
    const hourKey = [Number(oldestHour['epoch']), Number(oldestHour['hour'])] as const;
    const { first: firstSeq, last: lastSeq } =
      this.#get(`SELECT MIN(seq) AS first, MAX(seq) AS last FROM outbox_rows ${where}`, ...hourKey) ?? {};
    const [clientSql, foldedColumn] = hourWithRoutes ? ['client', 'route'] : [`'${otherClients}'`, 'client'];
    this.#folded += Number(
      this.#get(
        `SELECT SUM(requests) AS sum FROM outbox_rows ${where} AND ${foldedColumn} <> ?`,
        ...[...hourKey, hourWithRoutes ? otherRoute : otherClients],
      )?.['sum'],
    );
    // Each sum is put into the oldest batch that has one of its rows, so that no row waits longer than before.
    this.#database.exec('DROP TABLE IF EXISTS temp.folded');
    this.#run(
      `CREATE TEMP TABLE folded AS SELECT epoch, MIN(seq), version, ${clientSql}, '${otherRoute}', hour, brownout, ${sumColumns}
        FROM outbox_rows ${where} GROUP BY version, ${clientSql}, brownout`,
      ...hourKey,
    );
    this.#run(`DELETE FROM outbox_rows ${where}`, ...hourKey);
    this.#database.exec(`INSERT INTO outbox_rows (epoch, seq, ${columns.join(', ')}) SELECT * FROM temp.folded`);
    this.#measure(hourKey[0], Number(firstSeq), Number(lastSeq));
    return true;
  }

  /** Updates the size of the batches from `firstSeq` to `lastSeq`. */
  #measure(epoch: number, firstSeq: number, lastSeq: number): void {
    this.#run(
      `UPDATE outbox AS b SET (size, bytes) = (${sizeOfBatch}) WHERE epoch = ? AND seq BETWEEN ? AND ? AND rows IS NULL`,
      ...[epoch, firstSeq, lastSeq],
    );
  }

  #get(sql: string, ...values: SQLInputValue[]): Record<string, unknown> | undefined {
    return this.#database.prepare(sql).get(...values);
  }

  #run(sql: string, ...values: SQLInputValue[]): void {
    this.#database.prepare(sql).run(...values);
  }
}

function lossesText(losses: readonly Loss[]): string | null {
  return losses.length === 0 ? null : JSON.stringify(losses);
}

function lossesIn(text: unknown): readonly Loss[] {
  return typeof text === 'string' ? (JSON.parse(text) as readonly Loss[]) : [];
}

/** PostgreSQL can store neither the character 0 nor half of a surrogate pair. */
function storable(name: string): string {
  const whole = name.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\uFFFD') : whole;
}
