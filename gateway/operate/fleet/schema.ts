import { subjects } from '../../usage/ledger/schema.ts';
import { msPerSpan } from '../../usage/ledger/spans.ts';
import { otherClients } from '../../usage/usageRow.ts';
import { batchFunctions, createQueue, createSizes, type SumTable } from './batchFunctions.ts';
import { type Postgres, type Sql, StoreError } from './postgres.ts';
import { runsOfGateways } from './runsSchema.ts';

// The tables of the shared store, in a schema of their own. The tables of the usage counts have the names and columns of the ledger
// on SQLite. They are partitioned by time, so that counts older than the retention are deleted by dropping partitions.

/** The PostgreSQL schema that contains all tables. */
export const schemaName = 'version_gateway';
const storeVersion = 8;
// The SQLSTATE of a refused statement: the store answers, but this release cannot use it.
export const refusedStatement = '42000';
// The numbers of advisory locks. Gateways take turns to migrate the store, to fold names (to count them together as others), and to
// add queued batches.
const migrationLock = 0x56474d49;
export const namesLock = 0x56474644;
const addingLock = 0x56474142;
export const queueLock = 0x56475142;

/** How many spans of each length a partition has. It covers 10 days, 30 days, or one block, which is 30 days. */
export const partitionSizes = { hour: 240, day: 30, block: 1 } as const;

const countColumns = ['requests', 'errors', 'served', 'failing', 'refused'];

/**
 * The sums of each subject (`version`, `client`, `route`), and of each pair of a client and a route. `item`: the id of the client or
 * route, 0 in the tables of versions.
 */
export const sumTables: readonly SumTable[] = [
  ...subjects.flatMap((subject) =>
    (['hour', 'day', 'block'] as const).map((spanLength) => ({
      name: `${subject}_${spanLength}`,
      spanLength,
      keys: ['item'],
      counts: countColumns,
    })),
  ),
  ...(['hour', 'day'] as const).map((spanLength) => ({
    name: `pair_${spanLength}`,
    spanLength,
    keys: ['client', 'route'],
    counts: countColumns,
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

/** Queries read all rows of one version. In a single table, these rows would be spread over the pages of all versions. */
const routeClientPartitions = Array.from(
  { length: 16 },
  (_one, number) =>
    `CREATE TABLE route_client_p${number} PARTITION OF route_client FOR VALUES WITH (MODULUS 16, REMAINDER ${number});`,
).join('\n');

const batchTables = { schemaName, namesLock, addingLock, queueLock, sumTables, counts: countColumns };

const createTables = `
  CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
  ${subjects.map((subject) => `CREATE TABLE ${subject}s (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);`).join('\n')}
  ${sumTables.map(createSumTable).join('\n')}
  -- first, last, used: epoch ms. used: the last request that neither failed nor was refused by a freeze; 0: there is none.
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
    ${countColumns.map((column) => `${column} bigint NOT NULL`).join(', ')},
    PRIMARY KEY (version, span, instance)
  );
  -- The runs of each gateway. epoch: the number of the run. began, seen: the period in which it counted, epoch ms.
  CREATE TABLE runs (
    instance uuid NOT NULL, epoch bigint NOT NULL, began bigint NOT NULL, seen bigint NOT NULL, PRIMARY KEY (instance, epoch)
  );
  -- The fence: the number of the last batch of each run of a gateway.
  CREATE TABLE writers (
    instance uuid NOT NULL, epoch bigint NOT NULL, seq bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (instance, epoch)
  );
  -- heard: by the clock of the database. versions: stage and requests in flight of each version. spooled: rows that wait in
  -- the gateway; spooled_since: when the oldest began to wait, epoch ms. left_at: when it stopped and had sent all counts.
  -- gone_at: when it was marked as gone, because it was silent.
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
      ${sumTables.map(({ name, spanLength }) => `('${name}', ${msPerSpan[spanLength]}::bigint, ${partitionSizes[spanLength]})`).join(',\n      ')}
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

/** Adds columns of counts. In a new store, the tables of sums already have them. */
function addColumns(names: readonly string[]): string {
  return names.map((name) => `ADD COLUMN IF NOT EXISTS ${name} bigint NOT NULL DEFAULT 0`).join(', ');
}

/** A tag under another salt cannot be compared with the tags of the fleet, so its client counts as `other clients`. */
const createClientName = `
  CREATE FUNCTION client_name(client text, salt text, fleet_salt text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN salt = fleet_salt OR client NOT LIKE '%:#%' THEN client ELSE '${otherClients}' END
  $$;
`;

/** The statements that migrate the store by one version each. They only add, so that gateways of two releases can share the store. */
const migrations: readonly string[] = [
  `${createTables} ${createClientName} ${createPartitions}`,
  // report: what the gateway reports besides the other columns, as JSON; null: of an earlier release.
  `ALTER TABLE gateways ADD COLUMN report jsonb;`,
  // first and used of a route are NULL if an earlier release has written the row: they are not known. No row is changed, so
  // that the migration of a large store takes no longer than that of a small one.
  `${['pair_hour', 'pair_day'].map((table) => `ALTER TABLE ${table} ${addColumns(['served', 'failing', 'refused'])};`).join('\n')}
    ALTER TABLE version_client ${addColumns(['accepted'])};
    ALTER TABLE route_client ADD COLUMN first bigint, ADD COLUMN used bigint;`,
  // The refused requests of each client in each brownout. brownout: its start; first, last: epoch ms.
  `CREATE TABLE brownout_client (
     version integer NOT NULL, brownout bigint NOT NULL, client integer NOT NULL,
     refused bigint NOT NULL, first bigint NOT NULL, last bigint NOT NULL, PRIMARY KEY (version, brownout, client)
   );`,
  // What was decided about each brownout: approved, skipped, stopped or ended.
  `CREATE TABLE brownouts (
     version text NOT NULL, at bigint NOT NULL, state text NOT NULL, reason text, changed bigint NOT NULL,
     PRIMARY KEY (version, at)
   );`,
  runsOfGateways(schemaName),
  // A new store has no runs, so nothing was counted without sizes.
  `${createSizes(schemaName)} ${createQueue(batchTables)} ${batchFunctions(batchTables)}
   SELECT forget_sizes() WHERE EXISTS (SELECT 1 FROM runs);`,
  // Two losses that are recorded as one have the begin of the earlier one.
  batchFunctions(batchTables),
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
    if (version >= storeVersion) return;
    // Batches lock the same tables, but in another order.
    await sql.query(`SELECT pg_advisory_xact_lock(${namesLock})`);
    for (const statements of migrations.slice(version)) await sql.query(statements);
    await setMeta(sql, 'version', String(storeVersion));
    await setMeta(sql, 'compatible', '1');
  });
}

/** Needs a transaction whose search path is the schema. @throws StoreError if this release cannot read the tables */
export async function assertReadable(sql: Sql): Promise<void> {
  const { version, compatible } = await versionOf(sql);
  if (compatible > storeVersion) throw tooNew(version);
  if (version >= storeVersion) return;
  const missing = version === 0 ? 'it has no ledger' : `its ledger belongs to an earlier release (version ${version})`;
  throw new StoreError(`${missing}.  Start a gateway of this release with it as fleet.store.`, refusedStatement);
}

function tooNew(version: number): StoreError {
  return new StoreError(
    `a later release has changed it (version ${version}, this release knows ${storeVersion}).  Update version-gateway.`,
    refusedStatement,
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

/**
 * Makes `salt` the salt of the fleet, unless it has one. `isSaltFromTagKey`: `salt` is derived from `usage.tag_key`, and replaces any other.
 * @returns the salt of the fleet, and whether it was replaced
 */
export async function agreeOnSalt(
  sql: Sql,
  salt: string,
  isSaltFromTagKey: boolean,
): Promise<{ salt: string; isReplaced: boolean }> {
  const storedSalt = await getOrSetFleetSalt(sql, salt);
  if (storedSalt === salt || !isSaltFromTagKey) return { salt: storedSalt, isReplaced: false };
  await setMeta(sql, 'salt', salt);
  return { salt, isReplaced: true };
}

/** Makes `salt` the salt of the fleet, unless it has one. @returns the salt of the fleet */
export async function getOrSetFleetSalt(sql: Sql, salt: string): Promise<string> {
  await sql.query(`INSERT INTO ${schemaName}.meta VALUES ('salt', $1) ON CONFLICT DO NOTHING`, [salt]);
  const [row] = await sql.query<{ value: string }>(`SELECT value FROM ${schemaName}.meta WHERE key = 'salt'`);
  return row?.value ?? salt;
}
