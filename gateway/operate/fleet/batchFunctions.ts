import { sameLossMs, sizeColumns } from '../../usage/ledger/schema.ts';
import { msPerSpan, type SpanLength } from '../../usage/ledger/spans.ts';
import { printableName } from './runsSchema.ts';

// The functions of the shared store that add batches.
//
// The batches of a fleet change the same rows: the sums of a version, and those of clients that call several gateways. Each
// transaction locks these rows until its end, so such transactions run one after the other, however many gateways write. So a
// batch is first put into a queue, which is durable: then it is confirmed. Later, one gateway adds all batches of the queue in
// one transaction, and changes each row once for all of them. Readers first add what is in the queue.
//
// A gateway that writes alone adds its batch at once. So it does in a fleet with gateways of an earlier release, because these do not
// look into the queue.

/** A table of sums, partitioned by `span`. */
export interface SumTable {
  readonly name: string;
  readonly spanLength: SpanLength;
  /** After `version` and `span`. */
  readonly keys: readonly string[];
  readonly counts: readonly string[];
}

interface BatchTables {
  readonly schemaName: string;
  /** The number of an advisory lock. It is shared while a batch is added, and exclusive while the maintenance deletes names. */
  readonly namesLock: number;
  /** The number of the advisory lock of the gateway that adds batches. */
  readonly addingLock: number;
  /**
   * The number of an advisory lock. It is shared while a batch is written, and exclusive while no batch may be queued. A transaction that
   * needs several of the locks takes this one first, and `namesLock` last.
   */
  readonly queueLock: number;
  readonly sumTables: readonly SumTable[];
  /** The columns of a row that are added up. */
  readonly counts: readonly string[];
}

/**
 * Adds a row of `route_client` to the one with the same key. An unknown `first` stays unknown; an unknown `used` becomes
 * `last`, because it cannot be later.
 */
export const addUpRouteClientSql = `last = GREATEST(t.last, excluded.last),
  first = CASE WHEN t.first IS NOT NULL THEN LEAST(t.first, excluded.first) END,
  used = GREATEST(COALESCE(t.used, t.last), excluded.used)`;

/** Adds a row of `brownout_client` to the one with the same key. */
export const addUpBrownoutSql = `refused = t.refused + excluded.refused, first = LEAST(t.first, excluded.first),
  last = GREATEST(t.last, excluded.last)`;

/** Adds a row of `sizes` to the one with the same key. */
export const addUpSizesSql = sizeColumns
  .map((column) => `${column} = GREATEST(t.${column}, excluded.${column})`)
  .join(', ');

const sizesIn = (row: string): string => sizeColumns.map((column) => `${row}.${column}`).join(', ');
const sizeTypes = sizeColumns.map((column) => `${column} bigint`).join(', ');
const largestSizes = sizeColumns.map((column) => `MAX(${column}) AS ${column}`).join(', ');

const sumsOf = (columns: readonly string[]): string => columns.map((column) => `SUM(${column})`).join(', ');

/** Which rows of `rowsBySubject` a table gets, by the first word of its name, and their columns that become `keys`. */
const sourceOf: Readonly<Record<string, { readonly from: string; readonly ids: readonly string[] }>> = {
  version: { from: 'by_version', ids: ['0'] },
  client: { from: 'by_client', ids: ['client_id'] },
  route: { from: 'by_route', ids: ['route_id'] },
  pair: { from: 'by_pair', ids: ['client_id', 'route_id'] },
};

/**
 * Subqueries that add up the rows of `ids` by hour, and each by the rows of an earlier one: there are far fewer of these than rows of
 * a batch.
 */
function rowsBySubject(counts: readonly string[]): string {
  const sums = counts.map((column) => `SUM(${column})::bigint AS ${column}`).join(', ');
  const addUp = (name: string, from: string, ids: readonly string[]): string => `${name} AS MATERIALIZED (
      SELECT ${['version_id', 'hour', ...ids].join(', ')}, ${sums}, MIN(first) AS first, MAX(last) AS last, MAX(used) AS used,
        MAX(accepted) AS accepted, ${largestSizes}
      FROM ${from} GROUP BY ${['version_id', 'hour', ...ids].join(', ')}
    )`;
  return [
    addUp('by_pair', 'ids', ['client_id', 'route_id']),
    addUp('by_client', 'by_pair', ['client_id']),
    addUp('by_route', 'by_pair', ['route_id']),
    addUp('by_version', 'by_route', []),
  ].join(',\n    ');
}

/** Adds the rows of a subquery of `rowsBySubject` to one table. */
function addTo(schemaName: string, { name, spanLength, keys, counts: columns }: SumTable): string {
  const spanMs = msPerSpan[spanLength];
  const { from, ids } = sourceOf[name.slice(0, name.indexOf('_'))] ?? { from: 'ids', ids: [] };
  const keyExpressions = ['version_id', `hour / ${spanMs}`, ...ids].join(', ');
  // The tables of versions have 0 as their item. In GROUP BY, 0 would be the number of a column.
  const groupBy = ids.includes('0') ? `version_id, hour / ${spanMs}` : keyExpressions;
  const offset = (column: string): string => `${column} - hour / ${spanMs} * ${spanMs}`;
  return `add_${name} AS (
      INSERT INTO ${schemaName}.${name} AS t (version, span, ${keys.join(', ')}, ${columns.join(', ')}, first, last)
      SELECT ${keyExpressions}, ${sumsOf(columns)}, MIN(${offset('first')}), MAX(${offset('last')})
      FROM ${from} GROUP BY ${groupBy} ORDER BY ${groupBy}
      ON CONFLICT (version, span, ${keys.join(', ')}) DO UPDATE SET
        ${columns.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')},
        first = LEAST(t.first, excluded.first), last = GREATEST(t.last, excluded.last)
    )`;
}

// A queue with so many rows takes no more batches.
const mostQueuedRows = 256_000;
// If another gateway has written in this time, a batch is put into the queue.
const busyInterval = `interval '1 s'`;
// No gateway counts so many requests in one batch. Sums of such counts could become too large for their columns.
const largestCount = 1e15;

/**
 * Whether a row of `gateways` belongs to a gateway of an earlier release that runs: such a gateway does not look into the queue. `reads_queue` is
 * part of the report since this release; a row of a later run with an earlier release keeps the report of the earlier run.
 */
const ignoresQueue = (row: string): string =>
  `${row}.left_at IS NULL AND ${row}.gone_at IS NULL
    AND NOT COALESCE((${row}.report->>'epoch')::bigint = ${row}.epoch AND ${row}.report ? 'reads_queue', false)`;

/** `queued_batches`: the batches that are confirmed, but not added to the sums yet. `hours`: those of the rows. */
export const createQueue = ({ schemaName, queueLock, counts }: BatchTables): string => `
  -- A row of a batch, with the ids of its names.
  CREATE TYPE batch_row AS (
    version_id integer, client_id integer, route_id integer, hour bigint, ${counts.map((column) => `${column} bigint`).join(', ')},
    first bigint, last bigint, used bigint, accepted bigint, brownout bigint, ${sizeTypes}
  );
  CREATE TABLE queued_batches (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, instance uuid NOT NULL, rows batch_row[] NOT NULL, row_count integer NOT NULL,
    hours bigint[] NOT NULL, queued timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  -- A queued batch has the ids of its names, so no name is deleted while batches are queued. Names are only deleted while no batch is
  -- written, so this sees all queued batches.
  CREATE FUNCTION keep_queued_name() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF EXISTS (SELECT 1 FROM ${schemaName}.queued_batches) THEN RETURN NULL; END IF;
    RETURN OLD;
  END $$;
  ${['versions', 'routes', 'clients'].map((table) => `CREATE TRIGGER keep_queued_name BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION keep_queued_name();`).join('\n  ')}
  -- Batches may be in the queue when a gateway of an earlier release starts. A batch that is written at the same time is queued before
  -- this, or its gateway has to wait, and then finds the row.
  CREATE FUNCTION empty_queue() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(${queueLock});
    WHILE ${schemaName}.add_queued_1(NULL, true, 16000) LOOP END LOOP;
    RETURN NULL;
  END $$;
  CREATE TRIGGER empty_queue_on_insert AFTER INSERT ON gateways FOR EACH ROW WHEN (${ignoresQueue('NEW')})
    EXECUTE FUNCTION empty_queue();
  CREATE TRIGGER empty_queue_on_update AFTER UPDATE ON gateways FOR EACH ROW
    WHEN (${ignoresQueue('NEW')} AND NOT (${ignoresQueue('OLD')})) EXECUTE FUNCTION empty_queue();
`;

/** `sizes`: the largest body, request target and head of the requests to each route on each day that a backend answered, in bytes. */
export const createSizes = (schemaName: string): string => `
  CREATE TABLE sizes (
    version integer NOT NULL, span integer NOT NULL, route integer NOT NULL,
    ${sizeColumns.map((column) => `${column} bigint NOT NULL`).join(', ')}, PRIMARY KEY (version, span, route)
  );
  -- From now on, the sizes of all requests are known, unless this is called again.
  CREATE FUNCTION forget_sizes() RETURNS void LANGUAGE sql AS $$
    INSERT INTO ${schemaName}.meta AS m VALUES ('sizes_since', ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text)
      ON CONFLICT (key) DO UPDATE SET value = GREATEST(m.value::bigint, excluded.value::bigint)::text
  $$;
`;

/**
 * The rows of a batch with the ids of their names. Adds new names, and the partitions that the rows need. Names are sorted, so
 * that two gateways that add the same names wait for each other in the same order. `client_name` returns `other clients` for a
 * tag whose salt is not that of the fleet. A batch that could not be added later is refused here. Gateways of earlier releases
 * record no sizes, so these are known only after their last batch.
 */
const batchRows = ({ schemaName, namesLock, counts }: BatchTables): string => `
  CREATE OR REPLACE FUNCTION batch_rows(p_salt text, p_rows json, OUT resolved ${schemaName}.batch_row[], OUT hours bigint[])
  LANGUAGE plpgsql AS $$
  DECLARE fleet_salt text; missing bigint; largest bigint; lacks_sizes boolean;
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(${namesLock});
    SELECT value INTO fleet_salt FROM ${schemaName}.meta WHERE key = 'salt';
    FOR attempt IN 1 .. 2 LOOP
      SELECT array_agg(ROW(v.id, c.id, t.id, r.hour, ${counts.map((column) => `r.${column}`).join(', ')}, r.first, r.last, r.used,
            r.accepted, r.brownout, ${sizesIn('r')})::${schemaName}.batch_row),
          count(*) FILTER (WHERE v.id IS NULL OR c.id IS NULL OR t.id IS NULL), array_agg(DISTINCT r.hour ORDER BY r.hour),
          MAX(GREATEST(${counts.map((column) => `abs(r.${column})`).join(', ')})), bool_or(r.target IS NULL)
        INTO resolved, missing, hours, largest, lacks_sizes
        FROM json_to_recordset(p_rows) AS r(version text, client text, route text, hour bigint, ${counts.map((column) => `${column} bigint`).join(', ')},
          first bigint, last bigint, used bigint, accepted bigint, brownout bigint, ${sizeTypes})
        LEFT JOIN ${schemaName}.versions v ON v.name = r.version
        LEFT JOIN ${schemaName}.clients c ON c.name = ${schemaName}.client_name(r.client, p_salt, fleet_salt)
        LEFT JOIN ${schemaName}.routes t ON t.name = r.route;
      IF largest > ${largestCount} THEN
        RAISE EXCEPTION 'a count is out of range: %', largest USING ERRCODE = 'numeric_value_out_of_range';
      END IF;
      EXIT WHEN missing = 0;
      INSERT INTO ${schemaName}.versions (name) SELECT DISTINCT version FROM json_to_recordset(p_rows) AS r(version text)
        WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.versions WHERE name = version) ORDER BY 1 ON CONFLICT DO NOTHING;
      INSERT INTO ${schemaName}.routes (name) SELECT DISTINCT route FROM json_to_recordset(p_rows) AS r(route text)
        WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.routes WHERE name = route) ORDER BY 1 ON CONFLICT DO NOTHING;
      INSERT INTO ${schemaName}.clients (name) SELECT DISTINCT ${schemaName}.client_name(client, p_salt, fleet_salt) AS client_name
        FROM json_to_recordset(p_rows) AS r(client text)
        WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.clients WHERE name = ${schemaName}.client_name(client, p_salt, fleet_salt))
        ORDER BY 1 ON CONFLICT DO NOTHING;
    END LOOP;
    PERFORM ${schemaName}.create_hours(hours);
    IF lacks_sizes THEN PERFORM ${schemaName}.forget_sizes(); END IF;
    resolved := COALESCE(resolved, '{}');
  END $$;
`;

/**
 * Creates only the partitions that these hours need. If a clock started in 1970, the hours of the rows are decades apart, and all
 * partitions in between would be more than can be locked at once.
 */
const createHours = (schemaName: string): string => `
  CREATE OR REPLACE FUNCTION create_hours(hours bigint[]) RETURNS void LANGUAGE sql AS $$
    SELECT ${schemaName}.create_partitions(hour, hour) FROM (SELECT DISTINCT unnest(hours) AS hour) AS one ORDER BY hour
  $$;
`;

/**
 * The parameters of a batch. `epoch`: the number of a run of the gateway. `seq`: the number of the batch in this run. `seen`: up to
 * when this run has counted. `restarted`: when coverage restarted, or NULL. `losses`: as in `FleetBatch`.
 */
const runParameters =
  'p_instance uuid, p_epoch bigint, p_seq bigint, p_began bigint, p_seen bigint, p_restarted bigint';
const rowParameters = 'p_salt text, p_rows json';
const runArguments = 'p_instance, p_epoch, p_seq, p_began, p_seen, p_restarted';

/**
 * Registers a batch and returns `applied`: its rows have to be added. Returns `known` if the store has the batch. Returns
 * `gap` if the store lacks the batch before it, for example because the store was restored from a backup: the batch is
 * added, and coverage restarts. Also records the losses of the batch.
 */
const registerBatch = (schemaName: string): string => `
  CREATE OR REPLACE FUNCTION register_batch(${runParameters}, p_losses jsonb) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE last_seq bigint; outcome text := 'applied'; restarted bigint := p_restarted;
    loss record; first_instant bigint; last_instant bigint; sentence text;
  BEGIN
    -- The row is created first, so that it can be locked: two copies of the same batch are registered one after the other.
    INSERT INTO ${schemaName}.writers (instance, epoch, seq) VALUES (p_instance, p_epoch, 0) ON CONFLICT DO NOTHING;
    SELECT seq INTO last_seq FROM ${schemaName}.writers WHERE instance = p_instance AND epoch = p_epoch FOR UPDATE;
    IF p_seq <= last_seq THEN RETURN 'known'; END IF;
    IF p_seq > last_seq + 1 THEN
      outcome := 'gap';
      restarted := GREATEST(restarted, p_seen);
    END IF;
    UPDATE ${schemaName}.writers SET seq = p_seq, at = now() WHERE instance = p_instance AND epoch = p_epoch;
    INSERT INTO ${schemaName}.runs AS r (instance, epoch, began, seen) VALUES (p_instance, p_epoch, p_began, p_seen)
      ON CONFLICT (instance, epoch) DO UPDATE SET began = GREATEST(r.began, excluded.began), seen = GREATEST(r.seen, excluded.seen);
    IF restarted IS NOT NULL THEN
      INSERT INTO ${schemaName}.meta AS m VALUES ('covered_from', restarted::text)
        ON CONFLICT (key) DO UPDATE SET value = GREATEST(m.value::bigint, restarted)::text;
    END IF;
    FOR loss IN SELECT * FROM jsonb_to_recordset(p_losses) AS l(version text, "from" bigint, until bigint, reason text) LOOP
      -- No call that comes later is missing, even if the clock of the gateway is ahead.
      last_instant := LEAST(loss.until, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
      first_instant := LEAST(loss."from", last_instant);
      sentence := rtrim(loss.reason, '.') || COALESCE((SELECT ' (gateway ' || ${printableName('name')} || ')'
        FROM ${schemaName}.gateways WHERE instance = p_instance), '') || '.';
      -- A worker that dies again and again must not fill the table.
      UPDATE ${schemaName}.lost_counts SET began = LEAST(began, first_instant), ended = GREATEST(ended, last_instant)
        WHERE version = loss.version AND reason = sentence AND instance = p_instance
          AND ended >= first_instant - ${sameLossMs} AND began <= last_instant + ${sameLossMs};
      IF NOT FOUND THEN
        INSERT INTO ${schemaName}.lost_counts (version, began, ended, reason, instance)
          VALUES (loss.version, first_instant, last_instant, sentence, p_instance);
      END IF;
    END LOOP;
    RETURN outcome;
  END $$;
`;

/**
 * Adds the rows of one batch of the gateway `p_instance`, and those of the queued batches `queued_ids`. Needs `addingLock`. Rows are
 * sorted, so that two transactions that change the same rows wait for each other in the same order.
 */
const addRows = ({ schemaName, namesLock, sumTables, counts }: BatchTables): string => `
  CREATE OR REPLACE FUNCTION add_rows(p_instance uuid, p_rows ${schemaName}.batch_row[], queued_ids bigint[]) RETURNS void
  LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(${namesLock});
    WITH queued AS (DELETE FROM ${schemaName}.queued_batches WHERE id = ANY (queued_ids) RETURNING instance, rows),
    ids AS MATERIALIZED (
      SELECT b.instance, r.* FROM (SELECT instance, rows FROM queued UNION ALL SELECT p_instance, p_rows) AS b, unnest(b.rows) AS r
    ),
    ${rowsBySubject(counts)},
    ${sumTables.map((table) => addTo(schemaName, table)).join(',\n    ')},
    add_instance AS (
      INSERT INTO ${schemaName}.version_day_instance AS t
      SELECT version_id, hour / ${msPerSpan.day}, instance, ${sumsOf(counts)} FROM ids GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT (version, span, instance) DO UPDATE SET
        ${counts.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')}
    ),
    add_version_client AS (
      INSERT INTO ${schemaName}.version_client AS t (version, client, first, last, used, accepted)
      SELECT version_id, client_id, MIN(first), MAX(last), MAX(used), COALESCE(MAX(accepted), 0)
      FROM by_client GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (version, client) DO UPDATE SET first = LEAST(t.first, excluded.first),
        last = GREATEST(t.last, excluded.last), used = GREATEST(t.used, excluded.used),
        accepted = GREATEST(t.accepted, excluded.accepted)
    ),
    -- Most rows are not larger than the stored ones. They are only read.
    add_sizes AS (
      INSERT INTO ${schemaName}.sizes AS t (version, span, route, ${sizeColumns.join(', ')})
      SELECT version_id, day, route_id, ${sizeColumns.join(', ')} FROM (
        SELECT version_id, hour / ${msPerSpan.day} AS day, route_id, ${largestSizes} FROM by_route WHERE target > 0 GROUP BY 1, 2, 3
      ) AS n
      WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.sizes AS s WHERE s.version = n.version_id AND s.span = n.day AND s.route = n.route_id
        AND ${sizeColumns.map((column) => `s.${column} >= n.${column}`).join(' AND ')})
      ORDER BY 1, 2, 3
      ON CONFLICT (version, span, route) DO UPDATE SET ${addUpSizesSql}
    ),
    add_brownout_client AS (
      INSERT INTO ${schemaName}.brownout_client AS t (version, brownout, client, refused, first, last)
      SELECT version_id, brownout, client_id, SUM(requests), MIN(first), MAX(last)
      FROM ids WHERE brownout > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT (version, brownout, client) DO UPDATE SET ${addUpBrownoutSql}
    )
    INSERT INTO ${schemaName}.route_client AS t (version, route, client, last, first, used)
    SELECT version_id, route_id, client_id, MAX(last), MIN(first), MAX(used) FROM by_pair GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (version, route, client) DO UPDATE SET ${addUpRouteClientSql};
  END $$;
`;

/**
 * Adds queued batches with the ids up to `p_up_to` (NULL: all), the oldest first, with about `p_most_rows` rows. Returns whether such
 * batches are left; NULL: another gateway adds batches, and `p_waits` is false. `p_waits`: waits until that gateway is done. With 0 as
 * `p_most_rows`, it adds none.
 */
const addQueued = ({ schemaName, addingLock }: BatchTables): string => `
  CREATE OR REPLACE FUNCTION add_queued_1(p_up_to bigint, p_waits boolean, p_most_rows integer) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE chosen bigint[]; hours_of_chosen bigint[]; is_left boolean;
  BEGIN
    IF p_waits THEN PERFORM pg_advisory_xact_lock(${addingLock});
    ELSIF NOT pg_try_advisory_xact_lock(${addingLock}) THEN RETURN NULL; END IF;
    SELECT array_agg(id) FILTER (WHERE is_chosen), bool_or(NOT is_chosen) INTO chosen, is_left FROM (
      SELECT id, SUM(row_count) OVER (ORDER BY id) - row_count < p_most_rows AS is_chosen
      FROM ${schemaName}.queued_batches WHERE p_up_to IS NULL OR id <= p_up_to
    ) AS one;
    IF chosen IS NULL THEN RETURN false; END IF;
    -- The maintenance may have dropped a partition since the batch was queued.
    SELECT array_agg(DISTINCT hour) INTO hours_of_chosen FROM ${schemaName}.queued_batches, unnest(hours) AS hour WHERE id = ANY (chosen);
    PERFORM ${schemaName}.create_hours(hours_of_chosen);
    PERFORM ${schemaName}.add_rows(NULL, '{}', chosen);
    RETURN is_left;
  END $$;
`;

/**
 * Locks the names for a transaction that deletes some: no batch is written or added until its end. No batch is queued then.
 */
const lockNames = ({ schemaName, namesLock, addingLock }: BatchTables): string => `
  CREATE OR REPLACE FUNCTION lock_names_1() RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(${addingLock});
    PERFORM pg_advisory_xact_lock(${namesLock});
    WHILE ${schemaName}.add_queued_1(NULL, true, 64000) LOOP END LOOP;
  END $$;
`;

/**
 * `write_batch_2` adds a batch or puts it into the queue. `outcome`: that of `register_batch`, or `full`: the queue takes no more
 * batches, and this batch has to be written again after queued batches were added. Gateways of earlier releases call
 * `write_batch_1`, which adds their batch.
 */
const writeBatch = ({ schemaName, addingLock, queueLock }: BatchTables): string => `
  CREATE OR REPLACE FUNCTION write_batch_1(${runParameters}, ${rowParameters}) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE last_seq bigint; own record; outcome text;
  BEGIN
    SELECT seq INTO last_seq FROM ${schemaName}.writers WHERE instance = p_instance AND epoch = p_epoch;
    IF p_seq <= last_seq THEN RETURN 'known'; END IF;
    PERFORM pg_advisory_xact_lock(${addingLock});
    SELECT * INTO own FROM ${schemaName}.batch_rows(p_salt, p_rows);
    outcome := ${schemaName}.register_batch(${runArguments}, '[]');
    IF outcome <> 'known' AND cardinality(own.resolved) > 0 THEN PERFORM ${schemaName}.add_rows(p_instance, own.resolved, '{}'); END IF;
    RETURN outcome;
  END $$;
  CREATE OR REPLACE FUNCTION write_batch_2(${runParameters}, p_losses jsonb, ${rowParameters}, OUT outcome text, OUT is_queued boolean) LANGUAGE plpgsql AS $$
  DECLARE last_seq bigint; own record; queued_rows bigint;
  BEGIN
    is_queued := true;
    PERFORM pg_advisory_xact_lock_shared(${queueLock});
    SELECT seq INTO last_seq FROM ${schemaName}.writers WHERE instance = p_instance AND epoch = p_epoch;
    IF p_seq <= last_seq THEN
      outcome := 'known';
      RETURN;
    END IF;
    SELECT SUM(row_count) INTO queued_rows FROM ${schemaName}.queued_batches;
    IF EXISTS (SELECT 1 FROM ${schemaName}.gateways AS g WHERE ${ignoresQueue('g')}) THEN
      PERFORM pg_advisory_xact_lock(${addingLock});
      is_queued := false;
    ELSIF queued_rows >= ${mostQueuedRows} THEN
      outcome := 'full';
      RETURN;
    ELSIF queued_rows IS NULL AND NOT EXISTS (
      SELECT 1 FROM ${schemaName}.writers WHERE instance <> p_instance AND at > clock_timestamp() - ${busyInterval}
    ) THEN
      is_queued := NOT pg_try_advisory_xact_lock(${addingLock});
    END IF;
    SELECT * INTO own FROM ${schemaName}.batch_rows(p_salt, p_rows);
    outcome := ${schemaName}.register_batch(${runArguments}, p_losses);
    IF outcome = 'known' OR cardinality(own.resolved) = 0 THEN RETURN; END IF;
    IF is_queued THEN
      INSERT INTO ${schemaName}.queued_batches (instance, rows, row_count, hours)
        VALUES (p_instance, own.resolved, cardinality(own.resolved), own.hours);
    ELSE
      PERFORM ${schemaName}.add_rows(p_instance, own.resolved, '{}');
    END IF;
  END $$;
`;

export const batchFunctions = (tables: BatchTables): string =>
  [
    createHours(tables.schemaName),
    batchRows(tables),
    registerBatch(tables.schemaName),
    addRows(tables),
    addQueued(tables),
    lockNames(tables),
    writeBatch(tables),
  ].join('');
