import { randomUUID } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { Stage } from '../lifecycle/stage.ts';
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
  readonly counted?: CountedCalls | undefined;
  /** The id of the last question that this gateway asked, as `questionId` in `GatewayState`. */
  readonly asks?: number | undefined;
}

/** A row of the table `gateways`. Instants in epoch ms, by the clock of the database. */
export interface GatewayRow extends Omit<GatewayIdentity, 'epoch'>, Omit<GatewayState, 'versions'> {
  readonly versions: Readonly<Record<string, StoredVersionLoad>>;
  readonly started: number;
  readonly heard: number;
  readonly configSince: number;
  /** How far the clock of the gateway is ahead of the clock of the database, ms. */
  readonly skewMs: number;
  readonly leftAt: number | undefined;
  readonly goneAt: number | undefined;
  readonly goneReason: string | undefined;
}

export interface GatewayRows {
  /** The time of the database. */
  readonly now: number;
  readonly rows: readonly GatewayRow[];
}

const epochMs = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;

// `idle_since: "now"` becomes the time of the database.
const versionsWithTimes = `(
  SELECT coalesce(jsonb_object_agg(key, CASE WHEN value->>'idle_since' = 'now'
    THEN jsonb_set(value, '{idle_since}', to_jsonb(${epochMs('now()')})) ELSE value END), '{}')
  FROM jsonb_each($6::jsonb))`;

const heartbeatSql = `
  INSERT INTO ${schemaName}.gateways AS g
    (instance, epoch, name, release, addresses, versions, config, ready, problem, spooled, spooled_since, skew_ms,
      report)
  VALUES ($1, $2, $3, $4, $5, ${versionsWithTimes}, $7, $8, $9, $10, $11, $12, $13)
  ON CONFLICT (instance) DO UPDATE SET
    epoch = excluded.epoch, name = excluded.name, release = excluded.release, addresses = excluded.addresses,
    started = CASE WHEN g.epoch = excluded.epoch THEN g.started ELSE now() END, heard = now(),
    versions = excluded.versions, config = excluded.config,
    config_since = CASE WHEN g.config = excluded.config THEN g.config_since ELSE now() END,
    ready = excluded.ready, problem = excluded.problem, spooled = excluded.spooled,
    spooled_since = excluded.spooled_since, skew_ms = excluded.skew_ms, report = excluded.report,
    left_at = NULL, gone_at = NULL, gone_reason = NULL
  WHERE g.epoch <= excluded.epoch
  RETURNING versions`;

// The join returns the time even if there is no gateway.
const readRowsSql = `
  SELECT ${epochMs('now()')} AS db_now, g.instance, name, release, addresses, versions, config, ready, problem, spooled,
    spooled_since, skew_ms, gone_reason, CASE WHEN (report->>'epoch')::bigint = epoch THEN report END AS report,
    ${epochMs('started')} AS started, ${epochMs('heard')} AS heard,
    ${epochMs('config_since')} AS config_since, ${epochMs('left_at')} AS left_at, ${epochMs('gone_at')} AS gone_at
  FROM (SELECT 1) AS one LEFT JOIN ${schemaName}.gateways AS g ON true ORDER BY name, started`;

/** Announces this gateway to the others, in the table `gateways`. */
export class Membership {
  readonly #sql: Sql;
  readonly #givenIdentity: GatewayIdentity;
  #currentIdentity: GatewayIdentity;
  /** Since when each version is idle, by the clock of the database. */
  #idleSince = new Map<string, number>();
  #skewMs = 0;
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

  /** The id of the row of this gateway. */
  get instance(): string {
    return this.#currentIdentity.instance;
  }

  /** Writes the row of this gateway. @throws StoreError */
  async writeHeartbeat(state: GatewayState): Promise<void> {
    const versions = Object.entries(state.versions).map(([name, load]) => [
      name,
      { ...load, idle_since: isIdle(load) ? (this.#idleSince.get(name) ?? 'now') : null },
    ]);
    const { instance, epoch, name, release, addresses, silentAfter } = this.#currentIdentity;
    const report: StoredReport = { epoch, silent_after: silentAfter, counted: state.counted, asks: state.questionId };
    const problem = [state.problem, this.#copiedLedgerProblem].filter((one) => one !== undefined).join('  ');
    const [row] = await this.#sql.query<Pick<GatewayRow, 'versions'>>(heartbeatSql, [
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
    ]);
    if (row === undefined) {
      this.#takeNewId();
      await this.writeHeartbeat(state);
      return;
    }
    const idleTimes = Object.entries(row.versions).map(([version, load]) => [version, load.idle_since] as const);
    this.#idleSince = new Map(idleTimes.filter((entry): entry is readonly [string, number] => entry[1] !== null));
  }

  /** The rows of all gateways. @throws StoreError */
  async read(): Promise<GatewayRows> {
    const askedAt = Date.now();
    const result = await readGateways(this.#sql);
    this.#skewMs = Math.round((askedAt + Date.now()) / 2 - result.now);
    return result;
  }

  /** Records that this gateway has stopped and that all its counts are in the store. @throws StoreError */
  async leave(): Promise<void> {
    const { instance, epoch } = this.#currentIdentity;
    await this.#sql.query(
      `UPDATE ${schemaName}.gateways SET left_at = now(), heard = now(), versions = '{}', ready = false, problem = NULL,
        spooled = 0, spooled_since = NULL WHERE instance = $1 AND epoch = $2`,
      [instance, epoch],
    );
  }

  /** Called if a later run has the same id: a gateway runs with a copy of the ledger. With a new id, both gateways are visible. */
  #takeNewId(): void {
    this.#currentIdentity = { ...this.#currentIdentity, instance: randomUUID() };
    this.#copiedLedgerProblem =
      'Another gateway runs with a copy of the usage ledger of this one.  Give each gateway a file of its own.';
  }
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
  return { now: storedRows[0]?.db_now ?? 0, rows };
}

/**
 * Marks silent gateways as gone, until they are heard again. A gateway that was heard after its row was read is not
 * marked. @returns the ids of the marked gateways @throws StoreError
 */
export async function markGone(
  sql: Sql,
  silent: readonly Pick<GatewayRow, 'instance' | 'heard'>[],
  reason: string,
): Promise<readonly string[]> {
  const rows = await sql.query<{ instance: string }>(
    `UPDATE ${schemaName}.gateways AS g SET gone_at = now(), gone_reason = $3
     FROM unnest($1::uuid[], $2::bigint[]) AS silent (instance, heard)
     WHERE g.instance = silent.instance AND ${epochMs('g.heard')} = silent.heard AND g.left_at IS NULL AND g.gone_at IS NULL
     RETURNING g.instance`,
    [silent.map(({ instance }) => instance), silent.map(({ heard }) => heard), reason],
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
  readonly report: StoredReport | null;
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
    counted: row.report?.counted,
    questionId: row.report?.asks,
    leftAt: row.left_at ?? undefined,
    goneAt: row.gone_at ?? undefined,
    goneReason: row.gone_reason ?? undefined,
  };
}
