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
  /** Commits all of `work` or nothing. @throws StoreError, and the errors of `work` unchanged */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
}

/** A connection to the store that only one caller uses, until it calls `release`. */
export interface PooledConnection extends Sql {
  /** True if the connection was lost or did not answer. The server then rolls back its transaction. */
  readonly isBroken: boolean;
  release(): void;
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

  /** True if the store answered with an error; false if it could not be reached. All SQLSTATEs contain a digit. */
  get isAnswer(): boolean {
    return /^(?=.*\d)[0-9A-Z]{5}$/.test(this.code ?? '');
  }
}

/**
 * Connections to the shared store. They use no session state and no named statements, so that a pooler such as pgbouncer may
 * stand between the gateway and the server. Only this file loads the package `pg`.
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
    const { default: pg } = await import('pg').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_MODULE_NOT_FOUND')
        throw new StoreError('fleet.store needs the package pg.  Install it: npm install pg@8');
      throw new StoreError(`the package pg cannot be loaded: ${error.message}`);
    });
    return new Postgres(
      new pg.Pool({
        connectionString: passwordFile === undefined ? store : withPassword(store, passwordFile),
        max: connections,
        connectionTimeoutMillis: connectTimeoutMs,
        query_timeout: queryTimeoutMs,
        keepAlive: true,
        allowExitOnIdle: true,
        types: {
          getTypeParser: (oid, format) => (integerTypes.has(oid) ? Number : pg.types.getTypeParser(oid, format)),
        },
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
    const connection = await this.connect();
    try {
      await connection.query('BEGIN');
      const result = await work(connection);
      await connection.query('COMMIT');
      return result;
    } catch (error) {
      // A broken connection would not answer.
      if (!connection.isBroken) await connection.query('ROLLBACK').catch(() => {});
      throw error;
    } finally {
      connection.release();
    }
  }

  /** Takes a connection for the caller alone. @throws StoreError */
  async connect(): Promise<PooledConnection> {
    try {
      return connectionOf(await this.#pool.connect());
    } catch (error) {
      throw storeError(error);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

// The type ids of bigint and numeric, which `pg` returns as text. The sums of a ledger are far below 2^53.
const integerTypes = new Set([20, 1700]);

function connectionOf(client: PoolClient): PooledConnection {
  let isBroken = false;
  // The connection may be lost between two statements. The next one then fails.
  const onError = (): void => {
    isBroken = true;
  };
  client.on('error', onError);
  return {
    get isBroken() {
      return isBroken;
    },
    query: async <Row extends object>(sql: string, values: readonly unknown[] = []) => {
      try {
        return (await client.query<Row>(sql, [...values])).rows;
      } catch (error) {
        const failure = storeError(error);
        isBroken ||= !failure.isAnswer;
        throw failure;
      }
    },
    release: () => {
      client.off('error', onError);
      client.release(isBroken);
    },
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
  if (message === 'Query read timeout') return new StoreError('it did not answer in time');
  // A host with several addresses fails with an AggregateError that has no message.
  return new StoreError(message || code || 'the connection failed', code);
}
