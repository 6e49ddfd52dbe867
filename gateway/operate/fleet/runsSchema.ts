// Which counts the shared store has, and which it cannot have: how the runs of the gateways ended, and whether the store was set back.

/** A gateway whose clock differs by more than this has recorded its calls at wrong times, whatever the quiet period is. ms */
export const worstToleratedSkewMs = 3_600_000;

/** An advisory lock: gateways decide one after the other whether a store that was moved has all counts. */
const movedLock = 0x56474d56;

const epochMs = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;

/** An instant in epoch ms as text, to the second. */
const instantText = (ms: string): string =>
  `to_char(to_timestamp(${ms} / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** A name that another gateway has written, safe to print. */
export const printableName = (name: string): string => `left(regexp_replace(${name}, '[^[:print:]]', '?', 'g'), 100)`;

/**
 * The statements that add what the fleet has to know of its runs.
 *
 * A run is closed if its gateway has left with all its counts in the store and with a clock that is nearly right. A run that ended in
 * any other way is open, and the view `losses` has the time in which its calls are not known. Runs that an earlier release has
 * recorded count as closed.
 *
 * Columns of `runs`: `name`: of the gateway. `counted`: the store has the calls of the run that ended before this. `ended`: when the
 * run ended at the latest. `skew_ms`: the largest difference of its clock. `unsent`: the rows that had not been sent when the gateway
 * was last heard. Columns of `gateways`: `beat`: the number of its last heartbeat in this run. `counted`, `worst_skew_ms`: as in
 * `runs`. `ended_at`: when the gateway ended, as an operator has reported it. Instants in epoch ms, by the clock of the database.
 */
export const runsOfGateways = (schema: string): string => `
  ALTER TABLE ${schema}.runs ADD COLUMN closed smallint NOT NULL DEFAULT 1, ADD COLUMN name text, ADD COLUMN counted bigint,
    ADD COLUMN ended bigint, ADD COLUMN skew_ms bigint, ADD COLUMN unsent bigint;
  ALTER TABLE ${schema}.gateways ADD COLUMN beat bigint NOT NULL DEFAULT 0, ADD COLUMN counted bigint,
    ADD COLUMN worst_skew_ms bigint NOT NULL DEFAULT 0, ADD COLUMN ended_at bigint;

  -- Calls that the store has lost. version: '' for all versions. instance: the gateway that has noticed it.
  CREATE TABLE ${schema}.lost_counts (
    version text NOT NULL, began bigint NOT NULL, ended bigint NOT NULL, reason text NOT NULL, instance uuid
  );

  -- The times in which calls may be missing. Has the columns of the table of the same name in a ledger file.
  CREATE VIEW ${schema}.losses AS
    SELECT version, began, ended, reason FROM ${schema}.lost_counts
    UNION ALL
    SELECT '', LEAST(began, ended), ended,
      'Gateway ' || ${printableName('name')} || ' is gone: its calls until ' || ${instantText('ended')} || ' are not known.'
    FROM (
      SELECT name, COALESCE(counted, ${epochMs('heard')}) AS began, COALESCE(ended_at, ${epochMs('gone_at')}) AS ended
      FROM ${schema}.gateways WHERE gone_at IS NOT NULL
    ) AS gone
    UNION ALL
    SELECT '', LEAST(began, ended), ended, 'Gateway ' || ${printableName('name')} || CASE
      WHEN abs(skew_ms) > ${worstToleratedSkewMs} THEN ' ran with a wrong clock: the times of its calls until '
      ELSE ' ended without sending its last counts: its calls until ' END || ${instantText('ended')} || ' are not known.'
    FROM (
      SELECT COALESCE(r.name, g.name, r.instance::text) AS name, COALESCE(r.counted, r.seen) AS began,
        COALESCE(r.ended, ${epochMs('g.started')}) AS ended, COALESCE(r.skew_ms, 0) AS skew_ms
      FROM ${schema}.runs AS r LEFT JOIN ${schema}.gateways AS g USING (instance)
      WHERE r.closed = 0 AND (g.instance IS NULL OR g.epoch > r.epoch OR g.left_at IS NOT NULL)
    ) AS open_runs WHERE ended IS NOT NULL;

  -- What identifies the store and its history. A part is NULL if this role may not read it. A restored server, or a replica that was
  -- promoted, has another timeline; another server has another system identifier. Tables that were restored from a dump have other
  -- numbers.
  CREATE FUNCTION ${schema}.server_id(OUT system text, OUT timeline text, OUT tables text) LANGUAGE plpgsql AS $$
  BEGIN
    BEGIN
      SELECT system_identifier INTO system FROM pg_control_system();
    EXCEPTION WHEN OTHERS THEN system := NULL;
    END;
    BEGIN
      timeline := substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
    EXCEPTION WHEN OTHERS THEN timeline := NULL;
    END;
    SELECT format('%s.%s', oid, '${schema}.meta'::regclass::oid) INTO tables FROM pg_database WHERE datname = current_database();
  END $$;

  -- The keys of meta whose values are not those of the server: the store was moved, restored or promoted, and no gateway has compared
  -- it since with what it remembers.
  CREATE FUNCTION ${schema}.moved_ids() RETURNS text[] LANGUAGE sql AS $$
    SELECT COALESCE(array_agg(key), '{}') FROM ${schema}.meta, ${schema}.server_id() AS server
      WHERE key = 'server_system' AND value <> server.system OR key = 'server_timeline' AND value <> server.timeline
        OR key = 'server_tables' AND value <> server.tables
  $$;

  -- Compares what a gateway remembers with the store, and records its run. Called with every heartbeat, before the row of the gateway
  -- is written. p: instance, epoch, name, began (epoch ms); beat: the number of the last heartbeat that the store has confirmed, 0 for
  -- none; acknowledged: {instance, epoch, seq} of the last batch that the store has confirmed, also in an earlier run, or null; previous: {epoch,
  -- closed, until} of the run before this one, as the ledger file of the gateway has it, or null.
  -- Returns why counts were lost; NULL: none were.
  CREATE FUNCTION ${schema}.before_heartbeat_1(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    this_instance uuid := (p->>'instance')::uuid;
    this_epoch bigint := (p->>'epoch')::bigint;
    known_beat bigint := (p->>'beat')::bigint;
    previous_epoch bigint := (p->'previous'->>'epoch')::bigint;
    own ${schema}.gateways%ROWTYPE;
    remembers boolean := known_beat > 0 OR COALESCE(jsonb_typeof(p->'acknowledged'), '') = 'object';
    server record;
    moved text[];
    reason text;
    at bigint;
  BEGIN
    SELECT * INTO own FROM ${schema}.gateways WHERE instance = this_instance FOR UPDATE;
    -- A later run has the same id: this is a gateway with a copy of a ledger, which gets another id.
    IF own.epoch > this_epoch THEN RETURN NULL; END IF;
    at := ${epochMs('clock_timestamp()')};
    IF known_beat > 0 AND (own.instance IS NULL OR own.epoch < this_epoch OR own.beat < known_beat)
      OR jsonb_typeof(p->'acknowledged') = 'object' AND NOT EXISTS (SELECT 1 FROM ${schema}.writers
        WHERE instance = (p->'acknowledged'->>'instance')::uuid AND epoch = (p->'acknowledged'->>'epoch')::bigint AND seq >= (p->'acknowledged'->>'seq')::bigint) THEN
      reason := 'The shared store was set back to an earlier time, or restored from a backup: counts that it had confirmed are missing.';
    END IF;

    SELECT * INTO server FROM ${schema}.server_id();
    SELECT keys INTO moved FROM ${schema}.moved_ids() AS keys;
    IF cardinality(moved) > 0 THEN
      PERFORM pg_advisory_xact_lock(${movedLock});
      SELECT keys INTO moved FROM ${schema}.moved_ids() AS keys;
    END IF;
    IF cardinality(moved) > 0 AND reason IS NULL THEN
      IF NOT remembers THEN
        -- A gateway that was heard lately may have run before. It compares what it remembers with the store, so this one waits for it.
        IF EXISTS (SELECT 1 FROM ${schema}.gateways AS g WHERE g.instance <> this_instance AND left_at IS NULL AND gone_at IS NULL
          AND abs(extract(epoch FROM clock_timestamp() - heard)) * 1000 < COALESCE((report->>'silent_after')::float8, 10000)) THEN
          RAISE EXCEPTION 'the store was moved, restored or promoted; this gateway waits for one that knew it before' USING ERRCODE = '40001';
        END IF;
        reason := 'The shared store was moved, restored or promoted while no gateway was running that knew it before: counts may be missing.';
      ELSIF 'server_tables' = ANY (moved) AND EXISTS (SELECT 1 FROM ${schema}.gateways WHERE left_at IS NULL AND gone_at IS NULL) THEN
        -- Other gateways may have run after the dump, and left. None of those that the dump has can know of them.
        reason := 'The shared store was restored from a dump that was made while gateways ran: counts may be missing.';
      ELSIF known_beat = 0 OR at - ${epochMs('own.heard')} > COALESCE((own.report->>'silent_after')::float8, 10000) THEN
        -- This gateway has found everything that it remembers, but it did not run until now, or was cut off from the store. Each of the
        -- others may have run later: it is silent until it does the same.
        UPDATE ${schema}.gateways SET left_at = NULL WHERE left_at IS NOT NULL AND instance <> this_instance;
      END IF;
    END IF;
    IF cardinality(moved) = 0 OR reason IS NOT NULL OR remembers THEN
      -- Usually there is nothing to write. ON CONFLICT alone would lock the rows, so that heartbeats would wait for each other.
      INSERT INTO ${schema}.meta AS m
        SELECT key, found.value FROM (VALUES ('server_system', server.system), ('server_timeline', server.timeline),
            ('server_tables', server.tables)) AS found (key, value)
          WHERE found.value IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM ${schema}.meta AS same WHERE same.key = found.key AND same.value = found.value)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value;
    END IF;
    IF reason IS NOT NULL THEN
      INSERT INTO ${schema}.lost_counts
        SELECT '', LEAST(at, COALESCE(${epochMs('MAX(heard)')}, at)), at, reason, this_instance FROM ${schema}.gateways;
    END IF;

    IF known_beat = 0 THEN
      -- What the last heartbeat of the earlier run has reported.
      UPDATE ${schema}.runs AS r SET name = own.name, counted = COALESCE(own.counted, r.counted), skew_ms = own.worst_skew_ms,
        unsent = own.spooled WHERE r.instance = this_instance AND r.epoch = own.epoch AND r.epoch < this_epoch AND r.closed = 0;
      -- A run that never reached the store has a row only if its counts arrived later.
      IF previous_epoch < this_epoch AND NOT (p->'previous'->>'closed')::boolean THEN
        INSERT INTO ${schema}.runs AS r (instance, epoch, began, seen, closed)
          VALUES (this_instance, previous_epoch, (p->'previous'->>'until')::bigint, (p->'previous'->>'until')::bigint, 0)
          ON CONFLICT (instance, epoch) DO UPDATE SET closed = 0 WHERE r.ended IS NULL;
      END IF;
      UPDATE ${schema}.runs AS r SET ended = COALESCE(CASE WHEN own.epoch = r.epoch THEN own.ended_at END, at),
        closed = CASE WHEN r.epoch = previous_epoch AND (p->'previous'->>'closed')::boolean AND abs(COALESCE(r.skew_ms, 0))
          <= ${worstToleratedSkewMs} THEN 1 ELSE 0 END,
        counted = CASE WHEN r.epoch = previous_epoch THEN GREATEST(r.counted, (p->'previous'->>'until')::bigint) ELSE r.counted END
        WHERE r.instance = this_instance AND r.epoch < this_epoch AND r.closed = 0 AND r.ended IS NULL;
      INSERT INTO ${schema}.runs AS r (instance, epoch, began, seen, closed, name)
        VALUES (this_instance, this_epoch, (p->>'began')::bigint, (p->>'began')::bigint, 0, p->>'name')
        ON CONFLICT (instance, epoch) DO UPDATE SET closed = 0, ended = NULL, name = excluded.name;
    END IF;
    RETURN reason;
  END $$;

  -- Records that a gateway has stopped with all its counts in the store. p: as in before_heartbeat_1; skew_ms: the largest difference
  -- of its clock. A gateway that had to take another id (copied_from) closes its run under the first id, too.
  CREATE FUNCTION ${schema}.leave_1(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    reason text;
    worst bigint;
    since bigint;
  BEGIN
    reason := ${schema}.before_heartbeat_1(p);
    UPDATE ${schema}.gateways AS g SET left_at = now(), heard = now(), versions = '{}', ready = false, problem = NULL, spooled = 0,
      spooled_since = NULL, beat = g.beat + 1,
      worst_skew_ms = CASE WHEN abs(g.worst_skew_ms) > abs((p->>'skew_ms')::bigint) THEN g.worst_skew_ms ELSE (p->>'skew_ms')::bigint END
      WHERE instance = (p->>'instance')::uuid AND epoch = (p->>'epoch')::bigint
      RETURNING worst_skew_ms, ${epochMs('started')} INTO worst, since;
    UPDATE ${schema}.runs AS r SET closed = CASE WHEN abs(worst) > ${worstToleratedSkewMs} THEN 0 ELSE 1 END,
      ended = ${epochMs('clock_timestamp()')}, skew_ms = worst, unsent = 0,
      counted = CASE WHEN abs(worst) > ${worstToleratedSkewMs} THEN since ELSE ${epochMs('clock_timestamp()')} END
      WHERE r.instance IN ((p->>'instance')::uuid, (p->>'copied_from')::uuid) AND r.epoch = (p->>'epoch')::bigint;
    RETURN reason;
  END $$;
`;
