import { msPerSpan, type SpanLength } from '../usage/ledger/spans.ts';

// The function of the shared store that adds a batch.

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

const sumsOf = (columns: readonly string[]): string => columns.map((column) => `SUM(${column})`).join(', ');

/** Adds the rows of the subquery `ids` to one table. `idColumns`: the columns of the subquery that become `keys`. */
function addTo(
  schemaName: string,
  { name, spanLength, keys, counts: columns }: SumTable,
  idColumns: readonly string[],
): string {
  const spanMs = msPerSpan[spanLength];
  const keyExpressions = ['version_id', `hour / ${spanMs}`, ...idColumns].join(', ');
  // The tables of versions have 0 as their item. In GROUP BY, 0 would be the number of a column.
  const groupBy = idColumns.includes('0') ? `version_id, hour / ${spanMs}` : keyExpressions;
  const offset = (column: string): string => `${column} - hour / ${spanMs} * ${spanMs}`;
  return `add_${name} AS (
      INSERT INTO ${schemaName}.${name} AS t (version, span, ${keys.join(', ')}, ${columns.join(', ')}, first, last)
      SELECT ${keyExpressions}, ${sumsOf(columns)}, MIN(${offset('first')}), MAX(${offset('last')})
      FROM ids GROUP BY ${groupBy} ORDER BY ${groupBy}
      ON CONFLICT (version, span, ${keys.join(', ')}) DO UPDATE SET
        ${columns.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')},
        first = LEAST(t.first, excluded.first), last = GREATEST(t.last, excluded.last)
    )`;
}

const idColumnsOf = (name: string): readonly string[] => {
  if (name.startsWith('pair')) return ['client_id', 'route_id'];
  return name.startsWith('version') ? ['0'] : [`${name.slice(0, name.indexOf('_'))}_id`];
};

/**
 * Adds a batch and returns `applied`. Returns `known` and does nothing if the batch was added before. Returns `gap` if the
 * store lacks the batch before it, for example because the store was restored from a backup: the batch is added, and coverage
 * restarts. Names are sorted, so that two gateways that add the same names wait for each other in the same order.
 * `p_epoch`: the number of a run of the gateway. `p_seq`: the number of the batch in this run. `p_seen`: up to when this run has
 * counted. `p_restarted`: when coverage restarted, or NULL. `client_name` returns `other clients` for a tag whose salt is not that
 * of the fleet.
 */
export const writeBatchFunction = ({ schemaName, namesLock, sumTables, counts }: BatchTables): string => `
  CREATE OR REPLACE FUNCTION write_batch_1(
    p_instance uuid, p_epoch bigint, p_seq bigint, p_began bigint, p_seen bigint, p_restarted bigint, p_salt text, p_rows json
  ) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE last_seq bigint; outcome text := 'applied'; fleet_salt text; restarted bigint := p_restarted;
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(${namesLock});
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
    SELECT value INTO fleet_salt FROM ${schemaName}.meta WHERE key = 'salt';
    -- Creates only the partitions that the rows need. If a clock started in 1970, the hours of the rows are decades apart, and all
    -- partitions in between would be more than can be locked at once.
    PERFORM ${schemaName}.create_partitions(hour, hour)
      FROM (SELECT DISTINCT hour FROM json_to_recordset(p_rows) AS r(hour bigint) ORDER BY 1) AS hours;
    INSERT INTO ${schemaName}.versions (name) SELECT DISTINCT version FROM json_to_recordset(p_rows) AS r(version text)
      WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.versions WHERE name = version) ORDER BY 1 ON CONFLICT DO NOTHING;
    INSERT INTO ${schemaName}.routes (name) SELECT DISTINCT route FROM json_to_recordset(p_rows) AS r(route text)
      WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.routes WHERE name = route) ORDER BY 1 ON CONFLICT DO NOTHING;
    INSERT INTO ${schemaName}.clients (name) SELECT DISTINCT ${schemaName}.client_name(client, p_salt, fleet_salt) AS client_name
      FROM json_to_recordset(p_rows) AS r(client text)
      WHERE NOT EXISTS (SELECT 1 FROM ${schemaName}.clients WHERE name = ${schemaName}.client_name(client, p_salt, fleet_salt))
      ORDER BY 1 ON CONFLICT DO NOTHING;
    WITH ids AS MATERIALIZED (
      SELECT v.id AS version_id, c.id AS client_id, t.id AS route_id, r.*
      FROM json_to_recordset(p_rows) AS r(version text, client text, route text, hour bigint, ${counts.map((column) => `${column} bigint`).join(', ')},
        first bigint, last bigint, used bigint, accepted bigint, brownout bigint)
      JOIN ${schemaName}.versions v ON v.name = r.version
      JOIN ${schemaName}.clients c ON c.name = ${schemaName}.client_name(r.client, p_salt, fleet_salt)
      JOIN ${schemaName}.routes t ON t.name = r.route
    ),
    ${sumTables.map((table) => addTo(schemaName, table, idColumnsOf(table.name))).join(',\n    ')},
    add_instance AS (
      INSERT INTO ${schemaName}.version_day_instance AS t
      SELECT version_id, hour / ${msPerSpan.day}, p_instance, ${sumsOf(counts)} FROM ids GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (version, span, instance) DO UPDATE SET
        ${counts.map((column) => `${column} = t.${column} + excluded.${column}`).join(', ')}
    ),
    add_version_client AS (
      INSERT INTO ${schemaName}.version_client AS t (version, client, first, last, used, accepted)
      SELECT version_id, client_id, MIN(first), MAX(last), MAX(used), COALESCE(MAX(accepted), 0)
      FROM ids GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (version, client) DO UPDATE SET first = LEAST(t.first, excluded.first),
        last = GREATEST(t.last, excluded.last), used = GREATEST(t.used, excluded.used),
        accepted = GREATEST(t.accepted, excluded.accepted)
    ),
    add_brownout_client AS (
      INSERT INTO ${schemaName}.brownout_client AS t (version, brownout, client, refused, first, last)
      SELECT version_id, brownout, client_id, SUM(requests), MIN(first), MAX(last)
      FROM ids WHERE brownout > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT (version, brownout, client) DO UPDATE SET ${addUpBrownoutSql}
    )
    INSERT INTO ${schemaName}.route_client AS t (version, route, client, last, first, used)
    SELECT version_id, route_id, client_id, MAX(last), MIN(first), MAX(used) FROM ids GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (version, route, client) DO UPDATE SET ${addUpRouteClientSql};
    RETURN outcome;
  END $$;
`;
