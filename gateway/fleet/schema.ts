import { subjects } from '../usage/ledger/schema.ts';
import { type Length, lengths } from '../usage/ledger/spans.ts';
import { otherClients } from '../usage/usageRow.ts';
import { type Postgres, type Sql, StoreError } from './postgres.ts';

// The tables of the shared store. Those of the usage counts have the names and columns of the ledger on SQLite, in a schema of
// their own, and are partitioned by time, so that the retention drops partitions.

/** The PostgreSQL schema that contains all tables. */
export const schemaName = 'version_gateway';
const storeVersion = 2;
// The SQLSTATE of a table that does not exist: the store was reached, but is not the expected one.
const undefinedTable = '42P01';
// Gateways that migrate or fold names at the same time take turns.
const migrationLock = 0x56474d49;
export const foldingLock = 0x56474644;

/** How many spans of each length a partition has: 10 days, 30 days, 30 days. */
export const partitionSizes = { hour: 240, day: 30, block: 1 } as const;

const counts = ['requests', 'errors', 'served', 'failing', 'refused'];
const pairCounts = ['requests', 'errors'];

/** A table of sums, partitioned by `span`. */
interface SumTable {
  readonly name: string;
  readonly length: Length;
  /** After `version` and `span`. */
  readonly keys: readonly string[];
  readonly counts: readonly string[];
}

export const sumTables: readonly SumTable[] = [
  ...subjects.flatMap((subject) =>
    (['hour', 'day', 'block'] as const).map((length) => ({
      name: `${subject}_${length}`,
      length,
      keys: ['item'],
      counts,
    })),
  ),
  ...(['hour', 'day'] as const).map((length) => ({
    name: `pair_${length}`,
    length,
    keys: ['client', 'route'],
    counts: pairCounts,
  })),
];

function createSumTable({ name, keys, counts: columns }: SumTable): string {
  return `CREATE TABLE ${name} (
    version integer NOT NULL, span integer NOT NULL, ${keys.map((key) => `${key} integer NOT NULL`).join(', ')},
    ${columns.map((column) => `${column} bigint NOT NULL`).join(', ')},
    first bigint NOT NULL, last bigint NOT NULL,
    PRIMARY KEY (version, span, ${keys.join(', ')})
  ) PARTITION BY RANGE (span);`;
}

/** Queries read all rows of one version. In a single table they would be spread over the pages of all versions. */
const routeClientPartitions = Array.from(
  { length: 16 },
  (_one, number) =>
    `CREATE TABLE route_client_p${number} PARTITION OF route_client FOR VALUES WITH (MODULUS 16, REMAINDER ${number});`,
).join('\n');

const tables = `
  CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
  ${subjects.map((subject) => `CREATE TABLE ${subject}s (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);`).join('\n')}
  ${sumTables.map(createSumTable).join('\n')}
  CREATE TABLE version_client (
    version integer NOT NULL, client integer NOT NULL, first bigint NOT NULL, last bigint NOT NULL, used bigint NOT NULL,
    PRIMARY KEY (version, client)
  );
  CREATE TABLE route_client (
    version integer NOT NULL, route integer NOT NULL, client integer NOT NULL, last bigint NOT NULL,
    PRIMARY KEY (version, route, client)
  ) PARTITION BY HASH (version);
  ${routeClientPartitions}
  -- The requests of each version by gateway.
  CREATE TABLE version_day_instance (
    version integer NOT NULL, span integer NOT NULL, instance uuid NOT NULL,
    ${counts.map((column) => `${column} bigint NOT NULL`).join(', ')},
    PRIMARY KEY (version, span, instance)
  );
  -- When a gateway ran and counted. Epoch ms.
  CREATE TABLE runs (
    instance uuid NOT NULL, epoch bigint NOT NULL, began bigint NOT NULL, seen bigint NOT NULL, PRIMARY KEY (instance, epoch)
  );
  -- The fence: the number of the last batch of each run of a gateway.
  CREATE TABLE writers (
    instance uuid NOT NULL, epoch bigint NOT NULL, seq bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (instance, epoch)
  );
  -- heard: by the clock of the database. versions: stage and requests in flight of each version. spooled: rows that wait on
  -- the disk of the gateway; spooled_since: the time of the oldest, epoch ms.
  CREATE TABLE gateways (
    instance uuid PRIMARY KEY, epoch bigint NOT NULL, name text NOT NULL, release text NOT NULL, addresses text[] NOT NULL,
    started timestamptz NOT NULL DEFAULT now(), heard timestamptz NOT NULL DEFAULT now(),
    versions jsonb NOT NULL, config text NOT NULL, config_since timestamptz NOT NULL DEFAULT now(),
    ready boolean NOT NULL, problem text, spooled bigint NOT NULL, spooled_since bigint, skew_ms bigint NOT NULL,
    left_at timestamptz, gone_at timestamptz, gone_reason text
  );
  -- What the fleet has announced to clients: the configuration that was accepted last. One row.
  CREATE TABLE accepted (
    id integer PRIMARY KEY CHECK (id = 1), config jsonb NOT NULL, hash text NOT NULL, gateway text NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
  );
  -- Ledger files that were imported. seen: the end of the imported time, epoch ms.
  CREATE TABLE imports (ledger text PRIMARY KEY, seen bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
`;

/** Creates the partitions for spans from `p_from` to `p_to`, epoch ms. Attaching a table does not wait for writers or readers. */
const createPartitions = `
  CREATE FUNCTION create_partitions(p_from bigint, p_to bigint) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE one record; part integer; name text;
  BEGIN
    FOR one IN SELECT * FROM (VALUES
      ${sumTables.map(({ name, length }) => `('${name}', ${lengths[length]}::bigint, ${partitionSizes[length]})`).join(',\n      ')}
    ) AS t(parent, ms, size) LOOP
      FOR part IN (p_from / one.ms / one.size) .. (p_to / one.ms / one.size) LOOP
        name := format('%s_p%s', one.parent, part);
        CONTINUE WHEN to_regclass('${schemaName}.' || name) IS NOT NULL;
        PERFORM pg_advisory_xact_lock(${migrationLock});
        -- Another gateway may have created it meanwhile. to_regclass would answer from a cache.
        CONTINUE WHEN EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = '${schemaName}' AND tablename = name);
        EXECUTE format('CREATE TABLE ${schemaName}.%I (LIKE ${schemaName}.%I INCLUDING ALL)', name, one.parent);
        EXECUTE format('ALTER TABLE ${schemaName}.%I ATTACH PARTITION ${schemaName}.%I FOR VALUES FROM (%s) TO (%s)',
          one.parent, name, part * one.size, (part + 1) * one.size);
      END LOOP;
    END LOOP;
  END $$;
`;

const sum = (columns: readonly string[]): string => columns.map((column) => `SUM(${column})`).join(', ');

/** Adds the rows of the subquery `ids` to one table. `ids`: the columns of that subquery for `keys`. */
function addTo({ name, length, keys, counts: columns }: SumTable, ids: readonly string[]): string {
  const ms = lengths[length];
  const group = ['version_id', `hour / ${ms}`, ...ids].join(', ');
  // In GROUP BY, 0 would be the number of a column.
  const by = ids.includes('0') ? `version_id, hour / ${ms}` : group;
  const offset = (column: string): string => `${column} - hour / ${ms} * ${ms}`;
  return `add_${name} AS (
      INSERT INTO ${schemaName}.${name} AS t (version, span, ${keys.join(', ')}, ${columns.join(', ')}, first, last)
      SELECT ${group}, ${sum(columns)}, MIN(${offset('first')}), MAX(${offset('last')})
      FROM ids GROUP BY ${by} ORDER BY ${by}
      ON CONFLICT (version, span, ${keys.join(', ')}) DO UPDATE SET
        ${columns.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')},
        first = LEAST(t.first, excluded.first), last = GREATEST(t.last, excluded.last)
    )`;
}

const idsOfTable = (name: string): readonly string[] => {
  if (name.startsWith('pair')) return ['client_id', 'route_id'];
  return name.startsWith('version') ? ['0'] : [`${name.slice(0, name.indexOf('_'))}_id`];
};

/**
 * Adds a batch, if it is the next one of its gateway: `applied`. `known`: it was added before. `gap`: the store has lost
 * batches before it, for example because it was restored from a backup; it is added, and coverage restarts. Names are sorted,
 * so that two gateways that add the same names wait for each other in the same order.
 */
const writeBatch = `
  CREATE FUNCTION write_batch_1(
    p_instance uuid, p_epoch bigint, p_seq bigint, p_began bigint, p_seen bigint, p_restarted bigint, p_salt text, p_rows json
  ) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE last_seq bigint; outcome text := 'applied'; own_salt text; restarted bigint := p_restarted;
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(${foldingLock});
    -- The row is created first, so that it can be locked: two copies of the same batch are added one after the other.
    INSERT INTO ${schemaName}.writers VALUES (p_instance, p_epoch, 0) ON CONFLICT DO NOTHING;
    SELECT seq INTO last_seq FROM ${schemaName}.writers WHERE instance = p_instance AND epoch = p_epoch FOR UPDATE;
    IF p_seq <= last_seq THEN RETURN 'known'; END IF;
    IF p_seq > last_seq + 1 THEN
      outcome := 'gap';
      restarted := GREATEST(restarted, p_seen);
    END IF;
    UPDATE ${schemaName}.writers SET seq = p_seq, at = now() WHERE instance = p_instance AND epoch = p_epoch;
    INSERT INTO ${schemaName}.runs AS r VALUES (p_instance, p_epoch, p_began, p_seen)
      ON CONFLICT (instance, epoch) DO UPDATE SET began = GREATEST(r.began, excluded.began), seen = GREATEST(r.seen, excluded.seen);
    IF restarted IS NOT NULL THEN
      INSERT INTO ${schemaName}.meta AS m VALUES ('covered_from', restarted::text)
        ON CONFLICT (key) DO UPDATE SET value = GREATEST(m.value::bigint, restarted)::text;
    END IF;
    IF json_array_length(p_rows) = 0 THEN RETURN outcome; END IF;
    SELECT value INTO own_salt FROM ${schemaName}.meta WHERE key = 'salt';
    -- Not from the first to the last hour: with a clock that began in 1970 these are more partitions than can be locked at once.
    PERFORM ${schemaName}.create_partitions(hour, hour)
      FROM (SELECT DISTINCT hour FROM json_to_recordset(p_rows) AS r(hour bigint) ORDER BY 1) AS hours;
    INSERT INTO ${schemaName}.versions (name) SELECT DISTINCT version FROM json_to_recordset(p_rows) AS r(version text)
      WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.versions WHERE name = version) ORDER BY 1 ON CONFLICT DO NOTHING;
    INSERT INTO ${schemaName}.routes (name) SELECT DISTINCT route FROM json_to_recordset(p_rows) AS r(route text)
      WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.routes WHERE name = route) ORDER BY 1 ON CONFLICT DO NOTHING;
    INSERT INTO ${schemaName}.clients (name) SELECT DISTINCT ${schemaName}.client_name(client, p_salt, own_salt) AS client_name
      FROM json_to_recordset(p_rows) AS r(client text)
      WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.clients WHERE name = ${schemaName}.client_name(client, p_salt, own_salt))
      ORDER BY 1 ON CONFLICT DO NOTHING;
    WITH ids AS MATERIALIZED (
      SELECT v.id AS version_id, c.id AS client_id, t.id AS route_id, r.*
      FROM json_to_recordset(p_rows) AS r(version text, client text, route text, hour bigint, ${counts.map((column) => `${column} bigint`).join(', ')},
        first bigint, last bigint, used bigint)
      JOIN ${schemaName}.versions v ON v.name = r.version
      JOIN ${schemaName}.clients c ON c.name = ${schemaName}.client_name(r.client, p_salt, own_salt)
      JOIN ${schemaName}.routes t ON t.name = r.route
    ),
    ${sumTables.map((table) => addTo(table, idsOfTable(table.name))).join(',\n    ')},
    add_instance AS (
      INSERT INTO ${schemaName}.version_day_instance AS t
      SELECT version_id, hour / ${lengths.day}, p_instance, ${sum(counts)} FROM ids GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (version, span, instance) DO UPDATE SET
        ${counts.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')}
    ),
    add_version_client AS (
      INSERT INTO ${schemaName}.version_client AS t
      SELECT version_id, client_id, MIN(first), MAX(last), MAX(used) FROM ids GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (version, client) DO UPDATE SET first = LEAST(t.first, excluded.first),
        last = GREATEST(t.last, excluded.last), used = GREATEST(t.used, excluded.used)
    )
    INSERT INTO ${schemaName}.route_client AS t
    SELECT version_id, route_id, client_id, MAX(last) FROM ids GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (version, route, client) DO UPDATE SET last = GREATEST(t.last, excluded.last);
    RETURN outcome;
  END $$;
`;

/** A tag under another salt cannot be compared with the tags of the fleet, so its client is not counted by name. */
const clientName = `
  CREATE FUNCTION client_name(client text, salt text, own_salt text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN salt = own_salt OR client NOT LIKE '%:#%' THEN client ELSE '${otherClients}' END
  $$;
`;

/** Statements by the version that they lead to. They only add, so that gateways of two releases can share the store. */
const migrations: readonly string[] = [
  `${tables} ${clientName} ${createPartitions} ${writeBatch}`,
  // report: a `StoredReport`; null: of an earlier release.
  `ALTER TABLE gateways ADD COLUMN report jsonb;`,
];

/** Creates or migrates the tables. @throws StoreError, also if a later release has made the store unusable for this one */
export async function migrate(postgres: Postgres): Promise<void> {
  await postgres.transaction(async (sql) => {
    await sql.query(`SELECT pg_advisory_xact_lock(${migrationLock})`);
    const [{ exists } = { exists: false }] = await sql.query<{ exists: boolean }>(
      `SELECT to_regnamespace('${schemaName}') IS NOT NULL AS exists`,
    );
    // IF NOT EXISTS would need the privilege to create schemas, even if there is nothing to create.
    if (!exists) await sql.query(`CREATE SCHEMA ${schemaName}`);
    await sql.query(`SET LOCAL search_path TO ${schemaName}`);
    const { version, compatible } = await versionOf(sql);
    if (compatible > storeVersion) throw tooNew(version);
    for (const statements of migrations.slice(version)) await sql.query(statements);
    if (version >= storeVersion) return;
    await setMeta(sql, 'version', String(storeVersion));
    await setMeta(sql, 'compatible', '1');
  });
}

/** In a transaction whose search path is the schema. @throws StoreError if this release cannot read the tables */
export async function assertReadable(sql: Sql): Promise<void> {
  const { version, compatible } = await versionOf(sql);
  if (compatible > storeVersion) throw tooNew(version);
  if (version >= storeVersion) return;
  const missing = version === 0 ? 'it has no ledger' : `its ledger belongs to an earlier release (version ${version})`;
  throw new StoreError(`${missing}.  Start a gateway of this release with it as fleet.store.`, undefinedTable);
}

function tooNew(version: number): StoreError {
  return new StoreError(
    `a later release has changed it (version ${version}, this release knows ${storeVersion}).  Update version-gateway.`,
    undefinedTable,
  );
}

/** `version`: 0 before the first migration. `compatible`: the oldest version whose gateways can use the store. */
async function versionOf(sql: Sql): Promise<{ version: number; compatible: number }> {
  const [{ exists } = { exists: false }] = await sql.query<{ exists: boolean }>(
    `SELECT to_regclass('${schemaName}.meta') IS NOT NULL AS exists`,
  );
  if (!exists) return { version: 0, compatible: 0 };
  const rows = await sql.query<{ key: string; value: string }>('SELECT key, value FROM meta');
  const meta = new Map(rows.map(({ key, value }) => [key, Number(value)]));
  return { version: meta.get('version') ?? 0, compatible: meta.get('compatible') ?? 0 };
}

/** Sets a value of the table `meta`. @throws StoreError */
export async function setMeta(sql: Sql, key: string, value: string): Promise<void> {
  await sql.query(
    `INSERT INTO ${schemaName}.meta VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    [key, value],
  );
}

/** Makes `salt` the salt of the fleet, unless it has one. @returns the salt of the fleet */
export async function fleetSalt(sql: Sql, salt: string): Promise<string> {
  await sql.query(`INSERT INTO ${schemaName}.meta VALUES ('salt', $1) ON CONFLICT DO NOTHING`, [salt]);
  const [row] = await sql.query<{ value: string }>(`SELECT value FROM ${schemaName}.meta WHERE key = 'salt'`);
  return row?.value ?? salt;
}
