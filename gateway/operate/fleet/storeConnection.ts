import type { FleetSettings, Identifier } from '../../config/snapshot.ts';
import { messageOf } from '../../shared/text.ts';
import { namingRulesIdOf } from '../../usage/counting/identification.ts';
import { Postgres, type PostgresOptions, type Sql, StoreError, type Transactions } from './postgres.ts';
import { agreeOnSalt, migrate, schemaName, setMeta } from './schema.ts';

/** The salt of the gateway, and the callbacks of a `StoreConnection`. */
export interface StoreContext {
  /** The salt of this gateway's ledger. It becomes the salt of the fleet if the store has none. */
  readonly salt: () => string;
  /** The current `usage.identify`. Undefined: clients are not identified. */
  readonly identify: () => readonly Identifier[] | undefined;
  /** Whether `salt` is derived from `usage.tag_key`. It then replaces the salt of the fleet. */
  readonly isSaltFromTagKey?: boolean;
  /** Called after each connect, with the salt of the fleet. `isReplaced`: the store had another salt before. */
  readonly onSalt: (salt: string, isReplaced: boolean) => void;
  /** Called when the store is lost, with the reason, and when it answers again, with undefined. */
  readonly onChange: (problem: string | undefined) => void;
}

/**
 * The shared store as one gateway uses it. The first statement connects, reads the password and migrates the tables. So does the
 * first statement after the store was lost.
 */
export class StoreConnection implements Sql, Transactions {
  readonly #settings: FleetSettings;
  readonly #options: PostgresOptions;
  readonly #context: StoreContext;
  /** The connection, open or being opened. Undefined: the next statement connects. */
  #contact: Promise<Postgres> | undefined;
  /** Why the store cannot be used; undefined if it can; null before the first contact. */
  #problem: string | undefined | null = null;

  constructor(settings: FleetSettings, context: StoreContext, options: PostgresOptions) {
    this.#settings = settings;
    this.#context = context;
    this.#options = options;
  }

  async query<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#use((postgres) => postgres.query<Row>(sql, values));
  }

  async transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#use((postgres) => postgres.transaction(work));
  }

  /** Called after a reload: clients may have other names now. @throws StoreError */
  async noteNamingRules(): Promise<void> {
    await this.#use((postgres) => this.#storeNamingRulesId(postgres, this.#context.salt()));
  }

  async close(): Promise<void> {
    const contact = this.#contact;
    this.#contact = undefined;
    await contact?.then(
      (postgres) => postgres.close(),
      () => {},
    );
  }

  async #use<Result>(work: (postgres: Postgres) => Promise<Result>): Promise<Result> {
    this.#contact ??= this.#connect();
    const contact = this.#contact;
    let isConnected = false;
    try {
      const postgres = await contact;
      isConnected = true;
      const result = await work(postgres);
      this.#noteProblem(undefined);
      return result;
    } catch (error) {
      if (!isConnected || !isStatementFailure(error)) this.#noteProblem(messageOf(error));
      // The next statement connects and migrates again, also after a refused statement, because a table may be missing. Statements that
      // are running are not interrupted.
      const staysOpen = isConnected && isTransient(error);
      if (this.#contact === contact && !staysOpen) void this.close();
      throw error;
    }
  }

  async #connect(): Promise<Postgres> {
    const postgres = await Postgres.open(this.#settings, this.#options);
    try {
      await migrate(postgres);
      const { isSaltFromTagKey = false } = this.#context;
      const { salt, isReplaced } = await agreeOnSalt(postgres, this.#context.salt(), isSaltFromTagKey);
      this.#context.onSalt(salt, isReplaced);
      await this.#storeNamingRulesId(postgres, salt);
      return postgres;
    } catch (error) {
      void postgres.close();
      throw error;
    }
  }

  async #storeNamingRulesId(postgres: Postgres, salt: string): Promise<void> {
    const identify = this.#context.identify();
    if (identify) await storeNamingRulesId(postgres, namingRulesIdOf(identify, salt));
  }

  #noteProblem(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#context.onChange(problem);
  }
}

/**
 * Stores the id of the rules by which clients are named. If it has changed, also stores the time, because clients have other names in
 * the ledger since then. @throws StoreError
 */
async function storeNamingRulesId(store: Transactions, id: string): Promise<void> {
  await store.transaction(async (sql) => {
    const [row] = await sql.query<{ value: string; now: number }>(
      `SELECT value, floor(extract(epoch FROM now()) * 1000)::bigint AS now FROM ${schemaName}.meta WHERE key = 'naming'`,
    );
    if (row?.value === id) return;
    await setMeta(sql, 'naming', id);
    if (row) await setMeta(sql, 'named_since', String(row.now));
  });
}

/** A deadlock or a conflict with another gateway: the same statement succeeds if it is sent again. */
export function isTransient(error: unknown): boolean {
  return codeOf(error).startsWith('40');
}

// The classes of SQLSTATE with which the server refuses one statement. All other errors mean that the server cannot be used.
const statementClasses = ['22', '23', '40', '42', 'P0'];

/** The server answers, but refuses this statement. */
export function isStatementFailure(error: unknown): error is StoreError {
  return codeOf(error).length === 5 && statementClasses.includes(codeOf(error).slice(0, 2));
}

function codeOf(error: unknown): string {
  return error instanceof StoreError ? (error.code ?? '') : '';
}
