import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { FleetSettings } from '../../config/snapshot.ts';
import { makeFolder } from '../../shared/fileSystem.ts';
import { longestPauseMs } from './delivery.ts';
import { maxEventsPerGroup, type NotifyEvent } from './events.ts';

/** The most events that wait for one receiver. */
export const maxWaiting = 500;
/** A gateway that has begun to send an event records the result within this time. Later, another gateway may send the event. */
const claimMs = 60_000;
/**
 * If an instant in the queue is further in the future than the longest pause plus this slack, the clock was set back after the
 * instant was recorded. The clocks of a fleet differ by less than the slack.
 */
const clockSlackMs = 600_000;

type Value = string | number | null;

/** A database with the table of the queue. */
interface QueueDatabase {
  readonly table: string;
  /** Whether other gateways use the table, too. Their receivers may differ from those of this gateway. */
  readonly isShared: boolean;
  /** The statements use `$1`, `$2`, …. Throws the errors of the database. */
  query<Row extends object>(sql: string, values: readonly Value[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** An event that this gateway has claimed for one receiver. */
export interface ClaimedEvent {
  readonly event: NotifyEvent;
  readonly receiver: string;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** When the event was queued, epoch ms. */
  readonly queued: number;
}

/** The result of an attempt. `nextAt`: epoch ms; undefined: no further attempt. */
export interface AttemptResult {
  readonly isSent: boolean;
  /** `204`, `500`, `timeout`: short, without the URL. */
  readonly result: string;
  readonly nextAt: number | undefined;
}

/** An event for one receiver, for reports. Instants in epoch ms. */
export interface QueuedEvent {
  /** The time of the last attempt or of giving up; before the first attempt, when the event was queued. */
  readonly at: number;
  readonly type: string;
  readonly title: string;
  readonly receiver: string;
  readonly state: 'waiting' | 'sent' | 'failed';
  readonly attempts: number;
  readonly result: string | null;
  readonly nextAt: number | null;
}

// `bundle`: the group of the event. `group` is a keyword of SQL.
// `finished`: when the last attempt ended, or the event was given up; 0: neither has happened.
const columns = `
  id text NOT NULL, receiver text NOT NULL, type text NOT NULL, title text NOT NULL, event text NOT NULL, bundle text NOT NULL,
  state text NOT NULL, queued bigint NOT NULL, attempts integer NOT NULL, result text, next_at bigint NOT NULL,
  claimed_until bigint NOT NULL, finished bigint NOT NULL, keep_until bigint NOT NULL, PRIMARY KEY (id, receiver)`;

/**
 * The events that wait, and those that were sent or given up. The same statements run on a SQLite file and on the shared store
 * of a fleet. In the shared store, several gateways queue the same events, and one of them sends each event. Methods throw the errors
 * of the database.
 */
export class NotifyQueue {
  readonly #database: QueueDatabase;

  private constructor(database: QueueDatabase) {
    this.#database = database;
  }

  /** `file`: `:memory:` for a queue that ends with the process. Throws the errors of SQLite and the system. */
  static open(file: string): NotifyQueue {
    if (file !== ':memory:') {
      makeFolder(dirname(file));
      // SQLite itself would create it readable for everyone.
      closeSync(openSync(file, 'a', 0o600));
    }
    const database = new DatabaseSync(file, { timeout: 1_000 });
    try {
      // FULL: an event that was recorded as sent stays so after a power failure.
      database.exec(
        `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS notifications (${columns}) STRICT`.replaceAll('bigint', 'integer'),
      );
      // Only this gateway uses the file. An earlier process that had claimed an event has ended.
      database.exec(`UPDATE notifications SET claimed_until = 0 WHERE state = 'waiting'`);
    } catch (error) {
      // It is opened again every few seconds.
      database.close();
      throw error;
    }
    return new NotifyQueue({
      table: 'notifications',
      isShared: false,
      query: async <Row extends object>(sql: string, values: readonly Value[]) => {
        const valueByParameter = Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]));
        return database.prepare(sql).all(valueByParameter) as (Record<string, Value> & Row)[];
      },
      close: async () => database.close(),
    });
  }

  /** The queue in the shared store of a fleet. @throws StoreError, also if no gateway has created the schema yet */
  static async inStore(fleet: FleetSettings): Promise<NotifyQueue> {
    const { Postgres } = await import('../fleet/postgres.ts');
    const { schemaName } = await import('../fleet/schema.ts');
    const postgres = await Postgres.open(fleet, { connections: 1, queryTimeoutMs: 10_000 });
    const table = `${schemaName}.notifications`;
    const exists = async (): Promise<boolean> => {
      const [row] = await postgres.query<{ found: boolean }>(`SELECT to_regclass('${table}') IS NOT NULL AS found`);
      return row?.found === true;
    };
    try {
      // IF NOT EXISTS would need the privilege to create tables, even if there is nothing to create.
      if (!(await exists())) await postgres.query(`CREATE TABLE ${table} (${columns})`);
    } catch (error) {
      // Another gateway may have created it at the same time.
      if (!(await exists().catch(() => false))) {
        await postgres.close();
        throw error;
      }
    }
    const query = <Row extends object>(sql: string, values: readonly Value[]) => postgres.query<Row>(sql, values);
    return new NotifyQueue({ table, isShared: true, query, close: () => postgres.close() });
  }

  /**
   * Queues an event, unless it was queued before or a limit is reached. `now`: epoch ms. @returns why it was not queued. `full`: too many
   * events wait for the receiver. `known`: it was queued before, or its group has enough events.
   */
  async add(event: NotifyEvent, receiver: string, now: number): Promise<'known' | 'full' | undefined> {
    const { table } = this.#database;
    const { id, type, title, group = '', keepUntil } = event;
    const rows = await this.#database.query(
      `INSERT INTO ${table} SELECT $1, $2, $3, $4, $5, $6, 'waiting', CAST($7 AS bigint), 0, NULL, CAST($7 AS bigint), 0, 0,
        CAST($8 AS bigint)
        WHERE (SELECT COUNT(*) FROM ${table} WHERE receiver = $2 AND state = 'waiting') < ${maxWaiting}
          AND ($6 = '' OR (SELECT COUNT(*) FROM ${table} WHERE receiver = $2 AND bundle = $6) < ${maxEventsPerGroup})
        ON CONFLICT DO NOTHING RETURNING id`,
      [id, receiver, type, title, JSON.stringify(event), group, now, keepUntil],
    );
    if (rows.length > 0) return undefined;
    const waiting = await this.#database.query<{ id: string }>(
      `SELECT id FROM ${table} WHERE receiver = $1 AND state = 'waiting' LIMIT ${maxWaiting}`,
      [receiver],
    );
    return waiting.length < maxWaiting || waiting.some((one) => one.id === id) ? 'known' : 'full';
  }

  /** Claims the event that is due next. Only one gateway gets it. Undefined: none is due. */
  async claim(receiver: string, now: number): Promise<ClaimedEvent | undefined> {
    const { table } = this.#database;
    // A time that is too far ahead also counts as reached: the clock was set back since it was recorded.
    const reachedSql = (column: string, longestAheadMs: number): string =>
      `(${column} <= $2 OR ${column} > $2 + ${longestAheadMs + clockSlackMs})`;
    const timesReachedSql = `${reachedSql('next_at', longestPauseMs)} AND ${reachedSql('claimed_until', claimMs)}`;
    const dueSql = `receiver = $1 AND state = 'waiting' AND ${timesReachedSql}`;
    // The conditions are in both queries: PostgreSQL checks those of the outer query again if another gateway has just claimed the row.
    const [row] = await this.#database.query<{ event: string; attempts: number; queued: number }>(
      `UPDATE ${table} SET claimed_until = $3, attempts = attempts + 1 WHERE ${dueSql}
        AND id = (SELECT id FROM ${table} WHERE ${dueSql} ORDER BY next_at, queued, id LIMIT 1)
        RETURNING event, attempts, queued`,
      [receiver, now, now + claimMs],
    );
    return row && { event: JSON.parse(row.event) as NotifyEvent, receiver, attempt: row.attempts, queued: row.queued };
  }

  /** Records the result of an attempt, unless another gateway has claimed the event since. */
  async record({ event, receiver, attempt }: ClaimedEvent, outcome: AttemptResult, now: number): Promise<void> {
    const { isSent, result, nextAt } = outcome;
    const state = isSent ? 'sent' : nextAt === undefined ? 'failed' : 'waiting';
    await this.#database.query(
      `UPDATE ${this.#database.table} SET state = $4, result = $5, next_at = $6, claimed_until = 0, finished = $7
        WHERE id = $1 AND receiver = $2 AND attempts = $3`,
      [event.id, receiver, attempt, state, result, nextAt ?? 0, now],
    );
  }

  /** When the next event of these receivers is due, epoch ms; undefined: none waits. */
  async nextDue(receivers: readonly string[]): Promise<number | undefined> {
    const rows = await this.#database.query<{ receiver: string; due: number }>(
      `SELECT receiver, MIN(CASE WHEN next_at > claimed_until THEN next_at ELSE claimed_until END) AS due
        FROM ${this.#database.table} WHERE state = 'waiting' GROUP BY receiver`,
      [],
    );
    const dueTimes = rows.filter(({ receiver }) => receivers.includes(receiver)).map((one) => one.due);
    return dueTimes.length === 0 ? undefined : Math.min(...dueTimes);
  }

  /** The latest events for these receivers, and those that wait. */
  async recent(limit: number, receivers: readonly string[]): Promise<QueuedEvent[]> {
    // PostgreSQL allows no empty list.
    if (receivers.length === 0) return [];
    const rows = await this.#database.query<
      Omit<QueuedEvent, 'at' | 'nextAt'> & Record<'queued' | 'finished' | 'next_at', number>
    >(
      `SELECT type, title, receiver, state, attempts, result, queued, finished, next_at FROM ${this.#database.table}
        WHERE receiver IN (${placeholders(receivers)}) ORDER BY state = 'waiting' DESC, CASE WHEN finished > 0 THEN finished ELSE queued END DESC
        LIMIT ${limit}`,
      receivers,
    );
    return rows.map(({ queued, finished, next_at: nextAt, ...row }) => {
      return { ...row, at: finished > 0 ? finished : queued, nextAt: row.state === 'waiting' ? nextAt : null };
    });
  }

  /**
   * Gives up events that were queued before `queuedBefore`. Deletes finished events after their `keepUntil`. Also deletes events
   * that wait for receivers which are not in `receivers`. A shared store keeps these, because another gateway may have the receivers.
   * @returns the titles of the events that it gave up
   */
  async maintain(receivers: readonly string[], queuedBefore: number, now: number): Promise<string[]> {
    const { table, isShared } = this.#database;
    const removedReceiverSql = `state = 'waiting' AND receiver NOT IN (${placeholders(receivers)})`;
    if (!isShared) await this.#database.query(`DELETE FROM ${table} WHERE ${removedReceiverSql}`, receivers);
    const givenUp = await this.#database.query<{ title: string }>(
      `UPDATE ${table} SET state = 'failed', finished = $2 WHERE state = 'waiting' AND queued < $1 AND claimed_until <= $2
        RETURNING title`,
      [queuedBefore, now],
    );
    await this.#database.query(`DELETE FROM ${table} WHERE state <> 'waiting' AND keep_until < $1 RETURNING id`, [now]);
    return givenUp.map(({ title }) => title);
  }

  async close(): Promise<void> {
    await this.#database.close();
  }
}

function placeholders(values: readonly Value[]): string {
  return values.map((_value, index) => `$${index + 1}`).join();
}
