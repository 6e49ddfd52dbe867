import { isDeepStrictEqual } from 'node:util';
import type { Pool, PoolClient } from 'pg';
import type { FleetSettings } from '../../config/snapshot.ts';
import { messageOf } from '../../shared/text.ts';
import { needsFiles, readStoreAccess, type StoreAccess } from './storeAccess.ts';

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
  /** Undefined: a connection needs no file. */
  readonly #readAccess: (() => StoreAccess) | undefined;
  readonly #createPool: (access: StoreAccess) => Pool;
  #access: StoreAccess;
  #pool: Pool;
  /** Why the files cannot be read now. The last content that could be read stays in use. */
  #fileProblem: string | undefined;

  private constructor(settings: StoreSettings, createPool: (access: StoreAccess) => Pool) {
    this.#readAccess = needsFiles(settings) ? () => readStoreAccess(settings) : undefined;
    this.#createPool = createPool;
    this.#access = readStoreAccess(settings);
    this.#pool = createPool(this.#access);
  }

  /** Connects at the first query. @throws StoreError if `pg` is not installed, or if the password or a certificate cannot be read */
  static async open(
    settings: StoreSettings,
    { connections = 2, queryTimeoutMs = defaultQueryTimeoutMs }: PostgresOptions = {},
  ): Promise<Postgres> {
    const { default: pg } = await import('pg').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_MODULE_NOT_FOUND')
        throw new StoreError('fleet.store needs the package pg.  Install it: npm install pg@8');
      throw new StoreError(`the package pg cannot be loaded: ${error.message}`);
    });
    const createPool = (access: StoreAccess): Pool => {
      const pool = new pg.Pool({
        ...access,
        max: connections,
        connectionTimeoutMillis: connectTimeoutMs,
        query_timeout: queryTimeoutMs,
        keepAlive: true,
        allowExitOnIdle: true,
        types: {
          getTypeParser: (oid, format) => (integerTypes.has(oid) ? Number : pg.types.getTypeParser(oid, format)),
        },
      });
      // An idle connection that breaks is replaced when it is needed next.
      pool.on('error', () => {});
      return pool;
    };
    try {
      return new Postgres(settings, createPool);
    } catch (error) {
      throw new StoreError(messageOf(error));
    }
  }

  async query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    try {
      return (await this.#currentPool().query<Row>(sql, [...values])).rows;
    } catch (error) {
      throw this.#withFileProblem(storeError(error));
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
      return connectionOf(await this.#currentPool().connect());
    } catch (error) {
      throw this.#withFileProblem(storeError(error));
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /**
   * The connections for the present content of the files: a password or a certificate may be replaced at any time. The connections of
   * the former content end when they are released.
   */
  #currentPool(): Pool {
    if (this.#readAccess === undefined || this.#pool.ending) return this.#pool;
    try {
      const access = this.#readAccess();
      this.#fileProblem = undefined;
      if (isDeepStrictEqual(access, this.#access)) return this.#pool;
      const former = this.#pool;
      this.#access = access;
      this.#pool = this.#createPool(access);
      void former.end();
    } catch (error) {
      this.#fileProblem = messageOf(error);
    }
    return this.#pool;
  }

  /** The server may refuse the former password because the file with the new one cannot be read. */
  #withFileProblem(error: StoreError): StoreError {
    if (this.#fileProblem === undefined) return error;
    return new StoreError(`${error.message}; and ${this.#fileProblem}`, error.code);
  }
}

type StoreSettings = Pick<FleetSettings, 'store' | 'passwordFile'>;

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

function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { message, code = '', reason } = error as Error & { code?: string; reason?: string };
  if (message === 'Query read timeout') return new StoreError('it did not answer in time');
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const remedy = 'Write a name of the certificate into the URL of the store';
    return new StoreError(`its certificate is for another host name: ${reason ?? message}  ${remedy}`, code);
  }
  if (unknownIssuerCodes.includes(code)) {
    const remedy = 'For a private CA, add its file to the URL of the store: sslrootcert=/path/ca.pem';
    // Node adds a remedy of its own after a semicolon.
    const [cause] = message.split(';');
    return new StoreError(`its certificate is not signed by a known CA (${cause}).  ${remedy}`, code);
  }
  // A host with several addresses fails with an AggregateError that has no message.
  return new StoreError(message || code || 'the connection failed', code || undefined);
}

// https://docs.openssl.org/master/man3/X509_STORE_CTX_get_error/
const unknownIssuerCodes = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];
