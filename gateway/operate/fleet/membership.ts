import { randomUUID } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { FleetSettings } from '../../config/snapshot.ts';
import type { BatchNumber, PreviousRun } from '../../usage/ledger/outbox.ts';
import type { Stage } from '../../versions/lifecycle/stage.ts';
import type { Sql } from './postgres.ts';
import { schemaName } from './schema.ts';
import type { CountedCalls } from './unsent.ts';

/** What identifies a gateway in the fleet during one run. */
export interface GatewayIdentity {
  /** A UUID that stays the same over restarts. */
  readonly instance: string;
  /** The number of the run, larger than that of any earlier run. */
  readonly epoch: number;
  readonly name: string;
  readonly release: string;
  /** The addresses under which other gateways can reach it. */
  readonly addresses: readonly string[];
  /** `fleet.silent_after` of this gateway, ms. Undefined: the gateway has an earlier release, which does not report it. */
  readonly silentAfter: number | undefined;
  /** `fleet.start` of this gateway. Undefined: the gateway has an earlier release, which does not report it. */
  readonly start: FleetSettings['start'] | undefined;
  /** When the run began, epoch ms. */
  readonly began: number;
  /** The run before this one, as the ledger file has it. */
  readonly previous: PreviousRun | undefined;
}

/** What a gateway remembers of the store. If the store lacks any of it, the store was set back. */
export interface StoreMemory {
  readonly instance: string;
  readonly epoch: number;
  /** The number of the last heartbeat that the store has confirmed; 0: none. */
  readonly beat: number;
  /** The last batch that the store has confirmed. */
  readonly acknowledged: (BatchNumber & { readonly instance: string }) | undefined;
}

/** What a gateway reports with every heartbeat. */
export interface GatewayState {
  /** The requests of each version, by its path segment: `v1`. */
  readonly versions: Readonly<Record<string, VersionLoad>>;
  /** `configHash` of its active configuration. */
  readonly config: string;
  readonly ready: boolean;
  /** Why it is not ready, or what else is wrong. */
  readonly problem: string | undefined;
  /** Rows that are not in the store yet. */
  readonly spooled: number;
  /** When the oldest of these rows began to wait, epoch ms. */
  readonly spooledSince: number | undefined;
  /** Which of its calls the store has. Undefined: the gateway has an earlier release, which does not report it. */
  readonly counted: CountedCalls | undefined;
  /** The id of the last `CountsQuestion` of this gateway to the others. They read it, send their counts, and answer in `counted`. */
  readonly questionId: number | undefined;
}

/** The requests of one version in one gateway. The fields are named as in the store. */
export interface VersionLoad {
  readonly stage: Stage | 'removed';
  readonly in_flight: number;
  readonly waiting: number;
  /** True if a worker does not answer, so that there may be more requests. */
  readonly incomplete?: boolean;
  /** The backends that serve it, as `host:port`. Absent: the gateway has an earlier release, which does not report them. */
  readonly targets?: readonly string[];
  /** True if an adapter serves it: `targets` are those of another version. */
  readonly adapted?: boolean;
}

export interface StoredVersionLoad extends VersionLoad {
  /** The first heartbeat at which it was retired or removed and had nothing in flight, epoch ms; null: it is not idle. */
  readonly idle_since: number | null;
}

/** The column `report`. A field that is added later needs no migration. */
interface StoredReport {
  /** The run that wrote the report. A later run with an earlier release updates the row, but not this column. */
  readonly epoch: number;
  /** ms */
  readonly silent_after?: number | undefined;
  readonly start?: FleetSettings['start'] | undefined;
  readonly counted?: CountedCalls | undefined;
  /** The id of the last question that this gateway asked, as `questionId` in `GatewayState`. */
  readonly asks?: number | undefined;
  /** The gateway adds queued batches before it reads sums. The functions of the store look for this field. */
  readonly reads_queue?: true;
}

/** A row of the table `gateways`. Instants in epoch ms, by the clock of the database. */
export interface GatewayRow
  extends Omit<GatewayIdentity, 'epoch' | 'began' | 'previous'>,
    Omit<GatewayState, 'versions'> {
  readonly versions: Readonly<Record<string, StoredVersionLoad>>;
  readonly started: number;
  readonly heard: number;
  readonly configSince: number;
  /** How far the clock of the gateway is ahead of the clock of the database, ms. */
  readonly skewMs: number;
  readonly leftAt: number | undefined;
  readonly goneAt: number | undefined;
  readonly goneReason: string | undefined;
  /** When the gateway ended, as an operator has reported it. */
  readonly endedAt: number | undefined;
}

/** A run that has ended, and whose clock was wrong. */
export interface MistimedRun {
  readonly name: string;
  /** The largest difference of its clock, ms. */
  readonly skewMs: number;
  /** By the clock of the database, epoch ms. */
  readonly ended: number;
}

export interface GatewayRows {
  /** The time of the database. */
  readonly now: number;
  readonly rows: readonly GatewayRow[];
  readonly mistimedRuns?: readonly MistimedRun[];
}

/** The clock of a gateway may differ from that of the store by this much, ms. */
export const maxSkewMs = 5_000;

const epochMs = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;

// `idle_since: "now"` becomes the time of the database.
const versionsWithTimes = `(
  SELECT coalesce(jsonb_object_agg(key, CASE WHEN value->>'idle_since' = 'now'
    THEN jsonb_set(value, '{idle_since}', to_jsonb(${epochMs('now()')})) ELSE value END), '{}')
  FROM jsonb_each($6::jsonb))`;

// If the thread of the fleet was replaced, it begins to count its heartbeats again, but the number in the store never falls.
const heartbeatSql = `
  WITH store AS MATERIALIZED (SELECT ${schemaName}.before_heartbeat_1($14::jsonb) AS lost)
  INSERT INTO ${schemaName}.gateways AS g
    (instance, epoch, name, release, addresses, versions, config, ready, problem, spooled, spooled_since, skew_ms,
      report, beat, counted, worst_skew_ms)
  SELECT $1::uuid, $2::bigint, $3::text, $4::text, $5::text[], ${versionsWithTimes}, $7::text, $8::boolean, $9::text, $10::bigint,
    $11::bigint, $12::bigint, $13::jsonb, $15::bigint + 1, $16::bigint, $17::bigint FROM store
  ON CONFLICT (instance) DO UPDATE SET
    epoch = excluded.epoch, name = excluded.name, release = excluded.release, addresses = excluded.addresses,
    started = CASE WHEN g.epoch = excluded.epoch THEN g.started ELSE now() END, heard = now(),
    versions = excluded.versions, config = excluded.config,
    config_since = CASE WHEN g.config = excluded.config THEN g.config_since ELSE now() END,
    ready = excluded.ready, problem = excluded.problem, spooled = excluded.spooled,
    spooled_since = excluded.spooled_since, skew_ms = excluded.skew_ms, report = excluded.report,
    beat = CASE WHEN g.epoch = excluded.epoch THEN GREATEST(g.beat + 1, excluded.beat) ELSE excluded.beat END,
    counted = CASE WHEN g.epoch = excluded.epoch THEN GREATEST(g.counted, excluded.counted) ELSE excluded.counted END,
    worst_skew_ms = CASE WHEN g.epoch = excluded.epoch AND abs(g.worst_skew_ms) > abs(excluded.worst_skew_ms)
      THEN g.worst_skew_ms ELSE excluded.worst_skew_ms END,
    left_at = NULL, gone_at = NULL, gone_reason = NULL, ended_at = NULL
  WHERE g.epoch <= excluded.epoch
  RETURNING versions, beat, (SELECT lost FROM store) AS lost`;

// The join returns the time even if there is no gateway.
const readRowsSql = `
  SELECT ${epochMs('now()')} AS db_now, g.instance, name, release, addresses, versions, config, ready, problem, spooled,
    spooled_since, skew_ms, gone_reason, CASE WHEN (report->>'epoch')::bigint = epoch THEN report END AS report,
    ${epochMs('started')} AS started, ${epochMs('heard')} AS heard,
    ${epochMs('config_since')} AS config_since, ${epochMs('left_at')} AS left_at, ${epochMs('gone_at')} AS gone_at, ended_at,
    (SELECT json_agg(json_build_object('name', r.name, 'skewMs', r.skew_ms, 'ended', r.ended)) FROM ${schemaName}.runs AS r
      WHERE r.ended IS NOT NULL AND abs(r.skew_ms) > ${maxSkewMs}) AS mistimed_runs
  FROM (SELECT 1) AS one LEFT JOIN ${schemaName}.gateways AS g ON true ORDER BY name, started`;

/** Announces this gateway to the others, in the table `gateways`. */
export class Membership {
  readonly #sql: Sql;
  readonly #givenIdentity: GatewayIdentity;
  #currentIdentity: GatewayIdentity;
  /** Since when each version is idle, by the clock of the database. */
  #idleSince = new Map<string, number>();
  #skewMs = 0;
  /** The largest difference of the clock in this run, as far as the time of an answer proves it. */
  #worstSkewMs = 0;
  #beat = 0;
  #copiedLedgerProblem: string | undefined;

  constructor(sql: Sql, identity: GatewayIdentity) {
    this.#sql = sql;
    this.#givenIdentity = identity;
    this.#currentIdentity = identity;
  }

  /** Whether this object was created for the gateway and the run of this identity. */
  hasIdentity({ instance, epoch }: GatewayIdentity): boolean {
    return this.#givenIdentity.instance === instance && this.#givenIdentity.epoch === epoch;
  }

  /**
   * Whether the counts of this run are not lost if `next` follows it: they are in the same ledger file. They are also not lost if this
   * run had a temporary id, because then there was no file, and they are still in memory.
   */
  isContinuedBy({ instance, previous }: GatewayIdentity): boolean {
    return this.#givenIdentity.instance !== instance || (previous?.epoch ?? 0) >= this.#givenIdentity.epoch;
  }

  /** The id of the row of this gateway. */
  get instance(): string {
    return this.#currentIdentity.instance;
  }

  /** What this gateway remembers of the store. `acknowledged`: the last batch that the store has confirmed. */
  memory(acknowledged: BatchNumber | undefined): StoreMemory {
    const { instance, epoch } = this.#currentIdentity;
    // The batches have the id of the ledger file.
    const batch = acknowledged && { ...acknowledged, instance: this.#givenIdentity.instance };
    return { instance, epoch, beat: this.#beat, acknowledged: batch };
  }

  /**
   * Writes the row of this gateway, after the store has compared itself with what this gateway remembers. `sql`: a transaction.
   * @returns why counts were lost; undefined: none were @throws StoreError
   */
  async writeHeartbeat(state: GatewayState, acknowledged?: BatchNumber, sql = this.#sql): Promise<string | undefined> {
    const versions = Object.entries(state.versions).map(([name, load]) => [
      name,
      { ...load, idle_since: isIdle(load) ? (this.#idleSince.get(name) ?? 'now') : null },
    ]);
    const { instance, epoch, name, release, addresses, silentAfter, start } = this.#currentIdentity;
    const { counted, questionId: asks } = state;
    const report: StoredReport = { epoch, silent_after: silentAfter, start, counted, asks, reads_queue: true };
    const problem = [state.problem, this.#copiedLedgerProblem].filter((one) => one !== undefined).join('  ');
    const [row] = await sql.query<HeartbeatAnswer>(heartbeatSql, [
      instance,
      epoch,
      name,
      release,
      addresses,
      JSON.stringify(Object.fromEntries(versions)),
      state.config,
      state.ready,
      problem === '' ? null : problem,
      state.spooled,
      state.spooledSince ?? null,
      this.#skewMs,
      JSON.stringify(report),
      this.#runParameter(acknowledged),
      this.#beat,
      countedUntil(state.counted, this.#skewMs),
      this.#worstSkewMs,
    ]);
    if (row === undefined) {
      this.#takeNewId();
      return this.writeHeartbeat(state, acknowledged, sql);
    }
    this.#beat = row.beat;
    const idleTimes = Object.entries(row.versions).map(([version, load]) => [version, load.idle_since] as const);
    this.#idleSince = new Map(idleTimes.filter((entry): entry is readonly [string, number] => entry[1] !== null));
    return row.lost ?? undefined;
  }

  /** The rows of all gateways. @throws StoreError */
  async read(): Promise<GatewayRows> {
    const askedAt = Date.now();
    const result = await readGateways(this.#sql);
    const answeredAt = Date.now();
    this.#skewMs = Math.round((askedAt + answeredAt) / 2 - result.now);
    // The store has read its clock at some time between the question and the answer.
    const proven =
      Math.sign(this.#skewMs) * Math.max(0, Math.abs(this.#skewMs) - Math.round((answeredAt - askedAt) / 2));
    if (Math.abs(proven) > Math.abs(this.#worstSkewMs)) this.#worstSkewMs = proven;
    return result;
  }

  /**
   * Records that this gateway has stopped and that all its counts are in the store. This closes its run, unless its clock was wrong.
   * `sql`: a transaction. @throws StoreError
   */
  async leave(acknowledged?: BatchNumber, sql = this.#sql): Promise<void> {
    await sql.query(`SELECT ${schemaName}.leave_1($1::jsonb)`, [this.#runParameter(acknowledged)]);
  }

  /** The parameter of `before_heartbeat_1` and `leave_1`. */
  #runParameter(acknowledged: BatchNumber | undefined): string {
    const { name, began, previous } = this.#currentIdentity;
    const copiedFrom = this.#copiedLedgerProblem === undefined ? undefined : this.#givenIdentity.instance;
    return JSON.stringify({
      ...this.memory(acknowledged),
      name,
      began,
      previous: copiedFrom === undefined ? previous : undefined,
      skew_ms: this.#worstSkewMs,
      copied_from: copiedFrom,
    });
  }

  /** Called if a later run has the same id: a gateway runs with a copy of the ledger. With a new id, both gateways are visible. */
  #takeNewId(): void {
    this.#currentIdentity = { ...this.#currentIdentity, instance: randomUUID() };
    this.#beat = 0;
    this.#copiedLedgerProblem =
      'Another gateway runs with a copy of the usage ledger of this one.  Give each gateway a file of its own.';
  }
}

/** The store has the calls that ended before this, epoch ms by the clock of the store. Null: not known. */
function countedUntil(counted: CountedCalls | undefined, skewMs: number): number | null {
  if (counted === undefined) return null;
  const { at, all = at, unsent } = counted;
  return Math.floor(Math.min(at, all, ...Object.values(unsent)) - skewMs);
}

function isIdle({ stage, in_flight: inFlight, waiting, incomplete }: VersionLoad): boolean {
  return (stage === 'retired' || stage === 'removed') && inFlight + waiting === 0 && incomplete !== true;
}

/** When the gateway left or was marked as gone, epoch ms; undefined: it should run. */
export function leftOrGoneAt({ leftAt, goneAt }: Pick<GatewayRow, 'leftAt' | 'goneAt'>): number | undefined {
  return leftAt ?? goneAt;
}

/** `now`: the time of the database. `silentAfter`: ms, for a gateway that does not report one. */
export function isSilent(row: Pick<GatewayRow, 'heard' | 'silentAfter'>, now: number, silentAfter: number): boolean {
  // After the clock of the database was set back, an old time must not look recent.
  return Math.abs(now - row.heard) > (row.silentAfter ?? silentAfter);
}

/** @throws StoreError */
export async function readGateways(sql: Sql): Promise<GatewayRows> {
  const storedRows = await sql.query<StoredGateway>(readRowsSql);
  const rows = storedRows.filter(({ instance }) => instance !== null).map(rowOf);
  return { now: storedRows[0]?.db_now ?? 0, rows, mistimedRuns: storedRows[0]?.mistimed_runs ?? [] };
}

/**
 * Marks silent gateways as gone, until they are heard again. A gateway that was heard after its row was read is not
 * marked. `endedAt`: when they ended, if it is known, epoch ms; then also changes gateways that are gone already.
 * @returns the ids of the marked gateways @throws StoreError
 */
export async function markGone(
  sql: Sql,
  silent: readonly Pick<GatewayRow, 'instance' | 'heard'>[],
  reason: string,
  endedAt?: number,
): Promise<readonly string[]> {
  const rows = await sql.query<{ instance: string }>(
    `UPDATE ${schemaName}.gateways AS g SET gone_at = COALESCE(g.gone_at, now()), gone_reason = $3,
       ended_at = CASE WHEN $4::bigint IS NOT NULL THEN GREATEST($4::bigint, silent.heard) END
     FROM unnest($1::uuid[], $2::bigint[]) AS silent (instance, heard)
     WHERE g.instance = silent.instance AND ${epochMs('g.heard')} = silent.heard AND g.left_at IS NULL
       AND (g.gone_at IS NULL OR $4::bigint IS NOT NULL)
     RETURNING g.instance`,
    [silent.map(({ instance }) => instance), silent.map(({ heard }) => heard), reason, endedAt ?? null],
  );
  return rows.map(({ instance }) => instance);
}

/** Deletes gateways that left or are gone for longer than the retention of the ledger, ms. @throws StoreError */
export async function deleteFormerGateways(sql: Sql, retention: number): Promise<void> {
  await sql.query(
    `DELETE FROM ${schemaName}.gateways WHERE coalesce(left_at, gone_at) < now() - $1 * interval '1 millisecond'`,
    [retention],
  );
}

/** The addresses of the network interfaces, without those that only this machine or its link can reach. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !/^(?:fe80:|169\.254\.)/i.test(address))
    .map(({ address }) => address);
}

interface StoredGateway
  extends Pick<GatewayRow, 'instance' | 'name' | 'release' | 'addresses' | 'versions' | 'config'> {
  readonly db_now: number;
  readonly ready: boolean;
  readonly problem: string | null;
  readonly spooled: number;
  readonly spooled_since: number | null;
  readonly skew_ms: number;
  readonly started: number;
  readonly heard: number;
  readonly config_since: number;
  readonly left_at: number | null;
  readonly gone_at: number | null;
  readonly gone_reason: string | null;
  readonly ended_at: number | null;
  readonly mistimed_runs: readonly MistimedRun[] | null;
  readonly report: StoredReport | null;
}

interface HeartbeatAnswer extends Pick<GatewayRow, 'versions'> {
  readonly beat: number;
  readonly lost: string | null;
}

function rowOf(row: StoredGateway): GatewayRow {
  const { instance, name, release, addresses, versions, config, ready, spooled, started, heard } = row;
  return {
    instance,
    name,
    release,
    addresses,
    versions,
    config,
    ready,
    spooled,
    started,
    heard,
    problem: row.problem ?? undefined,
    spooledSince: row.spooled_since ?? undefined,
    configSince: row.config_since,
    skewMs: row.skew_ms,
    silentAfter: row.report?.silent_after,
    start: row.report?.start,
    counted: row.report?.counted,
    questionId: row.report?.asks,
    leftAt: row.left_at ?? undefined,
    goneAt: row.gone_at ?? undefined,
    goneReason: row.gone_reason ?? undefined,
    endedAt: row.ended_at ?? undefined,
  };
}
