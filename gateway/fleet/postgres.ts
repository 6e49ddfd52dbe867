import { readFileSync } from 'node:fs';
import type { Pool, PoolClient } from 'pg';
import { reasonOf } from '../config/fault.ts';
import type { FleetSettings } from '../config/snapshot.ts';

// A store that does not answer must not keep a heartbeat or an operator waiting.
const connectTimeoutMs = 5_000;
const defaultQueryTimeoutMs = 30_000;

/** Runs SQL. Values are bound to $1, $2, …. Whole numbers of any size arrive as numbers. @throws StoreError */
export interface Sql {
  query<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Transactions {
  /** Commits all of `work` or nothing. @throws StoreError, and what `work` throws as such */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
}

export interface PostgresOptions {
  /** The largest number of connections. */
  readonly connections?: number;
  readonly queryTimeoutMs?: number;
}

/** Why the store did not answer or refused a statement, without its URL and without the password. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  /** The SQLSTATE of PostgreSQL (`42P01`), or the code of the system (`ECONNREFUSED`). */
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Connections to the shared store. It uses no session state and no named statements, so that a pooler such as pgbouncer may
 * stand in between. The package `pg` is loaded here, and only here.
 */
export class Postgres implements Sql, Transactions {
  readonly #pool: Pool;

  private constructor(pool: Pool) {
    this.#pool = pool;
    // An idle connection that breaks is replaced when it is needed next.
    pool.on('error', () => {});
  }

  /** Connects at the first query. @throws StoreError if `pg` is not installed or the password cannot be read */
  static async open(
    { store, passwordFile }: Pick<FleetSettings, 'store' | 'passwordFile'>,
    { connections = 2, queryTimeoutMs = defaultQueryTimeoutMs }: PostgresOptions = {},
  ): Promise<Postgres> {
    const { default: pg } = await import('pg').catch(() => {
      throw new StoreError('fleet.store needs the package pg.  Install it: npm install pg@8');
    });
    return new Postgres(
      new pg.Pool({
        connectionString: passwordFile === undefined ? store : withPassword(store, passwordFile),
        max: connections,
        connectionTimeoutMillis: connectTimeoutMs,
        query_timeout: queryTimeoutMs,
        keepAlive: true,
        allowExitOnIdle: true,
        types: { getTypeParser: (oid, format) => (integers.has(oid) ? Number : pg.types.getTypeParser(oid, format)) },
      }),
    );
  }

  async query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    try {
      return (await this.#pool.query<Row>(sql, [...values])).rows;
    } catch (error) {
      throw storeError(error);
    }
  }

  async transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw storeError(error);
    });
    let broken = true;
    try {
      await client.query('BEGIN');
      const result = await work(sqlOf(client));
      await client.query('COMMIT');
      broken = false;
      return result;
    } catch (error) {
      broken = await client.query('ROLLBACK').then(
        () => false,
        () => true,
      );
      throw storeError(error);
    } finally {
      client.release(broken);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

// The type ids of bigint and numeric, which `pg` returns as text. The sums of a ledger are far below 2^53.
const integers = new Set([20, 1700]);

function sqlOf(client: PoolClient): Sql {
  return {
    query: async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
      (await client.query<Row>(sql, [...values])).rows,
  };
}

function withPassword(store: string, file: string): string {
  const url = new URL(store);
  try {
    url.password = encodeURIComponent(readFileSync(file, 'utf8').trim());
  } catch (error) {
    throw new StoreError(`fleet.password_file: ${file} cannot be read: ${reasonOf(error)}`);
  }
  return url.href;
}

function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { message, code } = error as Error & { code?: string };
  // A host with several addresses fails with an AggregateError that has no message.
  return new StoreError(message || code || 'the connection failed', code);
}
