import { type AcceptedConfig, acceptedFrom, type StoredConfig } from '../../config/acceptedConfig.ts';
import type { BrownoutRecord } from '../../usage/usageRow.ts';
import type { Sql } from './postgres.ts';
import { schemaName } from './schema.ts';

/** The configuration that the fleet has accepted last. */
export interface SharedConfig {
  readonly config: AcceptedConfig;
  readonly hash: string;
  /** The name of the gateway that accepted it. */
  readonly gateway: string;
  /** The settings under which it answers requests, as text; null: a gateway of an earlier release accepted it. */
  readonly answers: string | null;
}

/**
 * Reads the configuration that the fleet has accepted last. Undefined: there is none yet, or a later release has written it in
 * another format. @throws StoreError
 */
export async function readSharedConfig(sql: Sql): Promise<SharedConfig | undefined> {
  const [row] = await sql.query<Omit<SharedConfig, 'config'> & { readonly config: unknown }>(
    `SELECT config, hash, gateway, (SELECT value FROM ${schemaName}.meta WHERE key = 'answers') AS answers FROM ${schemaName}.accepted`,
  );
  const config = row && acceptedFrom(row.config);
  return config && { ...row, config };
}

/** A configuration that a gateway has accepted. */
export interface NewSharedConfig {
  readonly record: StoredConfig;
  readonly hash: string;
  readonly gateway: string;
  /** `AnswerSettings` as text. */
  readonly answers: string;
  /** How long ago the gateway accepted it, ms. */
  readonly age: number;
}

/**
 * Stores a configuration, unless the store has one that was accepted later: this gateway may have been cut off from the
 * store. @throws StoreError
 */
export async function writeSharedConfig(
  sql: Sql,
  { record, hash, gateway, age, answers }: NewSharedConfig,
): Promise<void> {
  await sql.query(
    `WITH stored AS (
       INSERT INTO ${schemaName}.accepted AS a (id, config, hash, gateway, at)
       VALUES (1, $1, $2, $3, now() - $4 * interval '1 millisecond')
       ON CONFLICT (id) DO UPDATE SET config = excluded.config, hash = excluded.hash, gateway = excluded.gateway, at = excluded.at
       WHERE a.at <= excluded.at RETURNING 1
     )
     INSERT INTO ${schemaName}.meta AS m SELECT 'answers', $5 FROM stored
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    [JSON.stringify(record), hash, gateway, age, answers],
  );
}

/**
 * Stores what a gateway has decided about brownouts. A decision that the fleet already has is kept, unless it is an approval and the
 * new decision is not.
 * @returns the decisions in effect. @throws StoreError
 */
export async function mergeBrownouts(sql: Sql, records: readonly BrownoutRecord[]): Promise<BrownoutRecord[]> {
  if (records.length > 0)
    await sql.query(
      `INSERT INTO ${schemaName}.brownouts AS b (version, at, state, reason, changed)
       SELECT version, at, state, reason, changed FROM json_to_recordset($1::json)
         AS r(version text, at bigint, state text, reason text, changed bigint) ORDER BY 1, 2
       ON CONFLICT (version, at) DO UPDATE SET state = excluded.state, reason = excluded.reason, changed = excluded.changed
       WHERE b.state = 'approved' AND excluded.state <> 'approved'`,
      [JSON.stringify(records)],
    );
  return sql.query(`SELECT version, at, state, reason, changed FROM ${schemaName}.brownouts ORDER BY at`);
}
